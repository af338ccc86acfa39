"""Invalid messages to a live page: each is dropped with one line in the log."""

import logging

import numpy as np
import pytest

import linkwork as lw
from helpers.live_pages import PageClient, small_document

pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')

from linkwork.viewer.live import open_view

ARM = lw.load("arm7")
NOT_MESSAGES = (b"", b"\xff" * 10, "text", b"\x91" * 3000, b"\x03", b"\x80", b"\x81\xa4type\xa1x")
VALUES = ("\x1b[31m\n", None, float("nan"), 1e300, [], {}, b"bytes", True, "x" * 1000)


def test_invalid_messages_to_the_live_page_are_dropped_with_one_log_line_each(capfd, caplog):
    caplog.set_level(logging.INFO, logger="linkwork.viewer")
    with open_view(small_document(ARM), open_browser=False) as view:
        for message in NOT_MESSAGES:
            client = PageClient(view)
            client._socket.send(message)
            assert client.closed_with() == 1011  # an error of the server
        assert len(caplog.records) == len(NOT_MESSAGES)
        client = PageClient(view)
        client.settle()
        slider = view._page.sliders[ARM.name].sliders[0]
        control = view._page.handles[ARM.name].control
        before, pose = slider.value, (control.wxyz, control.position)
        for value in VALUES:
            client.send("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": value})
        client.send("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"sync_cb": 3})
        client.send("GuiUpdateMessage", uuid=view._page.status._impl.uuid, updates={"value": "mine"})
        for wxyz, z in (((0.0,) * 4, 0.0), ((1.0, 0.0, 0.0, 0.0), float("nan")), ((1.0, 0.0, 0.0, 0.0), 1e300)):
            client.send("TransformControlsUpdateMessage", name=control.name, wxyz=wxyz, position=(0.0, 0.0, z))
        client.send("ShareUrlRequest")
        client.settle()
        assert slider.value == before and view._page.status.value != "mine"
        np.testing.assert_array_equal(np.concatenate((control.wxyz, control.position)), np.concatenate(pose))
        client.change(slider, 0.25)
        assert view.q[0] == pytest.approx(0.25 if slider.max < 4.0 else np.deg2rad(0.25))
        client.close()
    assert len(caplog.records) >= len(NOT_MESSAGES) + len(VALUES) + 6
    texts = [record.getMessage() for record in caplog.records]
    assert all(text.isprintable() and len(text) < 300 for text in texts)
    assert capfd.readouterr().err.replace("\n", "") == ""
