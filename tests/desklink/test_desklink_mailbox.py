"""What threads hand to the event loop: in order, waking it only when something cannot wait, and never lost while it runs."""

from __future__ import annotations

import asyncio
import threading

from triptych.adapters.desklink.mailbox import MOST_WAITING, Mailbox


def test_what_can_wait_comes_before_the_next_that_cannot() -> None:
    async def main() -> None:
        box, came, done = Mailbox(), list[int](), asyncio.Event()

        def put() -> None:
            box.put(came.append, 1, can_wait=True)
            box.put(came.append, 2, can_wait=True)

        thread = threading.Thread(target=put)
        thread.start()
        await asyncio.to_thread(thread.join)
        await asyncio.sleep(0.02)
        assert came == []
        box.put(done.set, can_wait=False)
        await asyncio.wait_for(done.wait(), 10)
        assert came == [1, 2]

    asyncio.run(main())


def test_whoever_looks_has_all_of_it() -> None:
    async def main() -> None:
        box, came = Mailbox(), list[int]()
        box.put(came.append, 1, can_wait=True)
        box.empty()
        box.empty()
        assert came == [1]

    asyncio.run(main())


def test_many_of_them_wake_the_loop() -> None:
    async def main() -> None:
        box, came, done = Mailbox(), list[int](), asyncio.Event()
        for number in range(MOST_WAITING - 1):
            box.put(came.append, number, can_wait=True)
        await asyncio.sleep(0.02)
        assert came == []
        box.put(done.set, can_wait=True)
        await asyncio.wait_for(done.wait(), 10)
        assert came == list(range(MOST_WAITING - 1))

    asyncio.run(main())


def test_a_closed_loop_breaks_nobody() -> None:
    async def main() -> Mailbox:
        return Mailbox()

    asyncio.run(main()).put(print, can_wait=False)
