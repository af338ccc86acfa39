"""Pictures of robots, motions and results: a live page, self-contained HTML, glTF, PNG and MP4."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.viewer.document import SceneDocument as SceneDocument
    from linkwork.viewer.figures.robot_figures import plot_poses as plot_poses
    from linkwork.viewer.gltf import write_glb as write_glb
    from linkwork.viewer.html.page import write_page as write_page
    from linkwork.viewer.layout import scene_document as scene_document
    from linkwork.viewer.layout import side_by_side as side_by_side
    from linkwork.viewer.live.view import View as View
    from linkwork.viewer.pictures import write_mp4 as write_mp4
    from linkwork.viewer.pictures import write_png as write_png


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.viewer.document": "SceneDocument",
            "linkwork.viewer.figures.robot_figures": "plot_poses",
            "linkwork.viewer.gltf": "write_glb",
            "linkwork.viewer.html.page": "write_page",
            "linkwork.viewer.layout": "scene_document side_by_side",
            "linkwork.viewer.live.view": "View",
            "linkwork.viewer.pictures": "write_mp4 write_png",
        },
    )
