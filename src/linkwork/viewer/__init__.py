"""Pictures of robots, motions and results: a live page, self-contained HTML, glTF, PNG and MP4."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.viewer.document import SceneDocument
    from linkwork.viewer.gltf import write_glb
    from linkwork.viewer.html.page import write_page
    from linkwork.viewer.layout import scene_document, side_by_side
    from linkwork.viewer.live.view import View
    from linkwork.viewer.pictures import write_mp4, write_png

__all__ = [
    "SceneDocument",
    "View",
    "scene_document",
    "side_by_side",
    "write_glb",
    "write_mp4",
    "write_page",
    "write_png",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.viewer.document": "SceneDocument",
            "linkwork.viewer.gltf": "write_glb",
            "linkwork.viewer.html.page": "write_page",
            "linkwork.viewer.layout": "scene_document side_by_side",
            "linkwork.viewer.live.view": "View",
            "linkwork.viewer.pictures": "write_mp4 write_png",
        },
    )
