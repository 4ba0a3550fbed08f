"""What a policy remembers of each conversation, beside the host's own session and never in it."""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from uuid import UUID

from toolprune.errors import shown

T = TypeVar("T")


class Conversations(Generic[T]):
    """One memory for each conversation.

    A conversation is named by an id (a str, int, UUID, or a tuple of these), by the host's session object, which is
    held by weak reference so that its memory goes when it goes, or by None, which is one conversation. Of those named
    by id, the one longest unused is forgotten when there would be more than `most`.
    """

    def __init__(self, make: Callable[[], T], most: int) -> None:
        self._make = make
        self._most = most
        self._unnamed: T | None = None
        self._by_id: OrderedDict[object, T] = OrderedDict()
        self._by_object: dict[int, tuple[weakref.ref[Any], T]] = {}
        self._lock = threading.Lock()

    def of(self, session: object) -> T:
        """The memory of a conversation, made when it is first asked for.

        Raises TypeError for an object that is neither an id nor can be held by weak reference.
        """
        if session is None:
            return self._of_none()
        try:
            if isinstance(session, str | int | UUID | tuple):
                return self._of_id(session)
            return self._of_object(session)
        except TypeError as error:  # a tuple that holds a list, an object without a place for weak references
            raise TypeError(
                f"session is {shown(session)}, and should be an id (str, int, UUID, or a tuple of these) or an object "
                "that can be held by weak reference"
            ) from error

    def _of_none(self) -> T:
        with self._lock:
            if self._unnamed is None:
                self._unnamed = self._make()
            return self._unnamed

    def _of_id(self, session: object) -> T:
        with self._lock:
            if session not in self._by_id:
                self._by_id[session] = self._make()
                if len(self._by_id) > self._most:
                    self._by_id.popitem(last=False)
            self._by_id.move_to_end(session)
            return self._by_id[session]

    def _of_object(self, session: object) -> T:
        # By the object, not by what it is equal to: sessions are told apart even where their class compares them.
        # The memory goes without the lock, since the collector may run while this thread holds it.
        address = id(session)
        reference = weakref.ref(session, lambda _: self._by_object.pop(address, None))
        return self._by_object.setdefault(address, (reference, self._make()))[1]
