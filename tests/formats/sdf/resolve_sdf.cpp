// Prints what libsdformat resolves of an SDF file, as JSON: the poses of links, joints and frames in the world, the
// links at both ends of each joint, its axes in the world, and the mass, centre and moments of inertia of each link.
//
//     g++ -O1 -std=c++17 resolve_sdf.cpp -o resolve_sdf $(pkg-config --cflags --libs sdformat12)
//     ./resolve_sdf folder-of-models file.sdf

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <sdf/sdf.hh>

using ignition::math::Pose3d;
using ignition::math::Vector3d;

static std::vector<std::string> links, joints, frames;

static std::string numbers(const std::vector<double> &values)
{
  std::string text = "[";
  char word[40];
  for (double x : values)
  {
    std::snprintf(word, sizeof word, "%s%.17g", text.size() > 1 ? ", " : "", x + 0.0);
    text += word;
  }
  return text + "]";
}

static std::string pose(const Pose3d &X)
{
  ignition::math::Matrix3d R(X.Rot());
  std::vector<double> rows;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      rows.push_back(j < 3 ? R(i, j) : X.Pos()[i]);
  return numbers(rows);
}

static std::string key(const std::string &text) { return "\"" + text + "\""; }

static void check(const sdf::Errors &errors)
{
  for (const auto &error : errors)
    std::cerr << error << "\n";
  if (!errors.empty())
    std::exit(1);
}

static void model(const sdf::Model &one, const Pose3d &parent, const std::string &prefix)
{
  Pose3d X;
  check(one.SemanticPose().Resolve(X));
  X = parent * X;
  const std::string inside = prefix + one.Name() + "::";
  for (uint64_t i = 0; i < one.LinkCount(); ++i)
  {
    const auto *link = one.LinkByIndex(i);
    Pose3d L;
    check(link->SemanticPose().Resolve(L, "__model__"));
    const auto &I = link->Inertial();
    const auto J = I.Moi();  // in the axes of the link
    const auto c = I.Pose().Pos();
    links.push_back(key(inside + link->Name()) + ": {\"pose\": " + pose(X * L) + ", \"inertia\": " +
      numbers({I.MassMatrix().Mass(), c.X(), c.Y(), c.Z(), J(0, 0), J(0, 1), J(0, 2), J(1, 1), J(1, 2), J(2, 2)}) + "}");
  }
  for (uint64_t i = 0; i < one.FrameCount(); ++i)
  {
    const auto *frame = one.FrameByIndex(i);
    Pose3d F;
    std::string body;
    check(frame->SemanticPose().Resolve(F, "__model__"));
    check(frame->ResolveAttachedToBody(body));
    frames.push_back(key(inside + frame->Name()) + ": {\"pose\": " + pose(X * F) + ", \"body\": " + key(inside + body) + "}");
  }
  for (uint64_t i = 0; i < one.JointCount(); ++i)
  {
    const auto *joint = one.JointByIndex(i);
    Pose3d J;
    std::string before, after, axes;
    check(joint->SemanticPose().Resolve(J, "__model__"));
    check(joint->ResolveParentLink(before));
    check(joint->ResolveChildLink(after));
    for (int k = 0; k < 2; ++k)
    {
      if (const auto *axis = joint->Axis(k))
      {
        Vector3d a;
        check(axis->ResolveXyz(a, "__model__"));
        a = X.Rot().RotateVector(a);
        axes += (axes.empty() ? "" : ", ") + numbers({a.X(), a.Y(), a.Z()});
      }
    }
    before = before == "world" ? before : inside + before;
    joints.push_back(key(inside + joint->Name()) + ": {\"pose\": " + pose(X * J) + ", \"parent\": " + key(before) +
      ", \"child\": " + key(inside + after) + ", \"axes\": [" + axes + "]}");
  }
  for (uint64_t i = 0; i < one.ModelCount(); ++i)
    model(*one.ModelByIndex(i), X, inside);
}

static void print(const char *name, const std::vector<std::string> &items, const char *end)
{
  std::cout << "\"" << name << "\": {";
  for (size_t i = 0; i < items.size(); ++i)
    std::cout << (i ? ",\n  " : "\n  ") << items[i];
  std::cout << "}" << end << "\n";
}

int main(int, char **arguments)
{
  sdf::ParserConfig config;
  config.AddURIPath("model://", arguments[1]);
  sdf::Root root;
  check(root.Load(arguments[2], config));
  if (root.Model())
    model(*root.Model(), Pose3d(), "");
  if (root.WorldCount())
  {
    const auto *world = root.WorldByIndex(0);
    for (uint64_t i = 0; i < world->ModelCount(); ++i)
      model(*world->ModelByIndex(i), Pose3d(), "");
    for (uint64_t i = 0; i < world->FrameCount(); ++i)
    {
      const auto *frame = world->FrameByIndex(i);
      Pose3d F;
      std::string body;
      check(frame->SemanticPose().Resolve(F, "world"));
      check(frame->ResolveAttachedToBody(body));
      frames.push_back(key(frame->Name()) + ": {\"pose\": " + pose(F) + ", \"body\": " + key(body) + "}");
    }
  }
  std::cout << "{";
  print("links", links, ",");
  print("frames", frames, ",");
  print("joints", joints, "}");
}
