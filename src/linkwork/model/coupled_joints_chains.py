"""Chains of joints that follow each other, led back to the joint that follows none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from linkwork.model.body import Following

__all__ = ["led_back"]


def led_back(wanted: Mapping[str, Following], on_cycle: Callable[[list[str]], None]) -> dict[str, Following]:
    """Every follower, by name, coupled to the joint at the start of its chain.

    ``on_cycle`` is told the joints of each cycle, in the order in which they follow each other; if it returns, those
    joints and the chain that led to them are left out.
    """
    wanted, done = dict(wanted), dict[str, Following]()
    for start in tuple(wanted):
        if start not in wanted:  # on a cycle that is found already
            continue
        chain = [start]  # from the follower on, as long as the next one follows another and is not done
        passed = {start}
        while chain[-1] not in done and (after := wanted[chain[-1]].joint) in wanted:
            if after in passed:
                on_cycle(chain[chain.index(after) :])
                for name in chain:
                    del wanted[name]
                chain = []
                break
            chain.append(after)
            passed.add(after)
        for name in reversed(chain):
            if name not in done:
                master = done.get(wanted[name].joint)
                done[name] = wanted[name] if master is None else wanted[name].through(master)
    return done
