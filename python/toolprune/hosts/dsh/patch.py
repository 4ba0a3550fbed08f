"""A profile's patch file: our row put in, brought up to date and taken out, while every other byte stays.

The file is read as YAML for where things stand, and edited as text. Written anew from what was read, it would lose its
owner's indentation, quotes and line ends.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from toolprune.errors import ToolpruneError

ID = "toolprune"

RIVALS = ("dsh-clear-tool-results", "clear-tool-results-host", "microcompact")
"""Parts of the ids and names of rows that shorten the same results."""


class Row(NamedTuple):
    """Our row, as the file has it. What it does not say as a text is None."""

    plugin: str | None
    python: str | None
    disabled: bool


class _Found(NamedTuple):
    entry: MappingNode
    """The row of the file, which inserts rows into the profile."""
    inserted: SequenceNode
    item: MappingNode


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Patch:
    """The text of a patch file. `path` is for the sentences about it.

    Every method raises ToolpruneError for a text that is no YAML list, and those that edit it for one that cannot be
    edited without a change to what others wrote.
    """

    path: str
    text: str

    @property
    def row(self) -> Row | None:
        """Our row; None where there is none."""
        found = self._ours
        if not found:
            return None
        item = found[0].item
        about = [item, *(each for each in self._rows if _text(_value(each, "id")) == ID)]
        return Row(
            _text(_value(item, "name")),
            _text(_value(_value(item, "config"), "python")),
            any(map(_disabled, about)),
        )

    @property
    def rivals(self) -> list[str]:
        """The ids of other inserted rows that are on and shorten the same results, our own second row among them."""
        ours = [found.item for found in self._ours]
        found = []
        for item in self._inserted:
            names = [_text(_value(item, key)) or "" for key in ("id", "name")]
            rival = item not in ours[:1] if item in ours else any(part in name for name in names for part in RIVALS)
            if rival and not _disabled(item):
                found.append(names[0] or names[1])
        return found

    @property
    def holds_nothing(self) -> bool:
        """Whether there is neither a row nor a comment."""
        return self.text.strip() in ("", "[]")

    def put(self, plugin: str, python: str) -> Patch:
        """With our row, which names this plugin and this interpreter. All else that is in the row stays."""
        edits = self._updates(self._ours[0].item, plugin, python) if self._ours else [self._addition(plugin, python)]
        new = self._edited(edits)
        row = new.row
        # What others wrote, and what its owner wrote into our row, is read again before anybody relies on it.
        if row is None or (row.plugin, row.python) != (plugin, python):
            raise self._refusal()
        if new._others != self._others or (self._ours and new._settings != self._settings):
            raise self._refusal()
        return new

    def take(self) -> Patch:
        """Without our row."""
        new = self
        while new._ours:
            taken = new._edited([new._removal(new._ours[0])])
            if len(taken._ours) != len(new._ours) - 1 or taken._others != self._others:
                raise self._refusal()
            new = taken
        return new

    @cached_property
    def _root(self) -> SequenceNode | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReusedAnchorWarning)
                root = YAML(typ="rt", pure=True).compose(self.text)
        except RecursionError:
            raise ToolpruneError(f"{self.path} is nested too deeply: a row is a mapping in a list") from None
        except YAMLError as error:
            what = " ".join(str(getattr(error, "problem", None) or error).split())
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}" if mark else ""
            raise ToolpruneError(f"{self.path}{where} is not YAML: {what}; mend it first") from error
        if root is None or (isinstance(root, ScalarNode) and root.start_mark.index == root.end_mark.index):
            return None
        if not isinstance(root, SequenceNode):
            raise ToolpruneError(f"{self.path} is no list of rows, as the host wants it: mend it first")
        return root

    @property
    def _rows(self) -> list[Node]:
        return self._root.value if self._root else []

    @property
    def _inserted(self) -> list[MappingNode]:
        lists = [_value(row, "insert") for row in self._rows]
        items = [item for each in lists if isinstance(each, SequenceNode) for item in each.value]
        return [item for item in items if isinstance(item, MappingNode)]

    @cached_property
    def _ours(self) -> list[_Found]:
        found = []
        for row in self._rows:
            inserted = _value(row, "insert")
            if isinstance(row, MappingNode) and isinstance(inserted, SequenceNode):
                found += [_Found(row, inserted, item) for item in inserted.value if _text(_value(item, "id")) == ID]
        return found

    @cached_property
    def _others(self) -> list[Any]:
        """The meaning of the file without our rows."""
        ours = [found.item for found in self._ours]
        emptied = [found.entry for found in self._ours if all(item in ours for item in found.inserted.value)]
        gone = [entry for entry in emptied if len(entry.value) == 1]
        try:
            return [_plain(row, ours) for row in self._rows if row not in gone]
        except RecursionError:
            raise self._refusal() from None

    @property
    def _settings(self) -> list[Any]:
        """What our row says beside the plugin and the interpreter."""
        item = self._ours[0].item
        config = _value(item, "config")
        inside = config.value if isinstance(config, MappingNode) else []
        pairs = [(key, value) for key, value in item.value if key.value not in ("name", "config")]
        pairs += [(key, value) for key, value in inside if key.value != "python"]
        return [(_plain(key), _plain(value)) for key, value in pairs]

    def _addition(self, plugin: str, python: str) -> _Edit:
        root, text = self._root, self.text
        row = {"insert": [{"id": ID, "name": plugin, "config": {"python": python}}]}
        if root is not None and root.flow_style:
            if root.value:
                end = self._end(root.value[-1])
                return _Edit(end, end, f", {_flow(row)}")
            if root.start_mark.column:
                return _Edit(root.start_mark.index, root.end_mark.index, f"[{_flow(row)}]")
            return _Edit(root.start_mark.index, root.end_mark.index, self._block(plugin, python, 0).rstrip())
        before = "" if not text or text.endswith("\n") else self._line_end
        column = root.start_mark.column if root else 0
        return _Edit(len(text), len(text), before + self._block(plugin, python, column))

    def _block(self, plugin: str, python: str, column: int) -> str:
        lines = (
            "- insert:",
            f"    - id: {ID}",
            f"      name: {_flow(plugin)}",
            "      config:",
            f"        python: {_flow(python)}",
        )
        return "".join(" " * column + line + self._line_end for line in lines)

    def _updates(self, item: MappingNode, plugin: str, python: str) -> list[_Edit]:
        config = _value(item, "config")
        name = self._setting(item, "name", plugin, _flow(plugin))
        if isinstance(config, MappingNode):
            return [*name, *self._setting(config, "python", python, _flow(python))]
        return [*name, *self._setting(item, "config", None, f"{{python: {_flow(python)}}}")]

    def _setting(self, mapping: MappingNode, key: str, value: str | None, written: str) -> list[_Edit]:
        """What makes a key of a mapping say this value."""
        node = _value(mapping, key)
        if node is not None:
            if value is not None and _text(node) == value:
                return []
            start, end = node.start_mark.index, self._end(node)
            if start == end:
                # What is not written stands nowhere, or on a later line.
                start = end = self.text.index(":", _pair(mapping, key)[0].end_mark.index) + 1
                written = f" {written}"
            return [_Edit(start, end, written)]
        if not mapping.value:
            return [_Edit(mapping.start_mark.index, mapping.end_mark.index, f"{{{key}: {written}}}")]
        first = mapping.value[0][0].start_mark
        between = ", " if mapping.flow_style else self._line_end + " " * first.column
        return [_Edit(first.index, first.index, f"{key}: {written}{between}")]

    def _removal(self, found: _Found) -> _Edit:
        if _lone(found) and self._root:
            return self._without(self._root, found.entry)
        return self._without(found.inserted, found.item)

    def _without(self, items: SequenceNode, item: Node) -> _Edit:
        text, at, start = self.text, items.value.index(item), item.start_mark.index
        if len(items.value) == 1:
            if items.flow_style:
                return _Edit(items.start_mark.index, items.end_mark.index, "[]")
            # A list's dashes may stand where its key does, and nothing else may.
            empty = "[]" if items is self._root else " []"
            return _Edit(items.start_mark.index, self._line(self._end(item)), empty)
        if items.flow_style:
            if at == 0:
                return _Edit(start, items.value[1].start_mark.index, "")
            return _Edit(self._end(items.value[at - 1]), self._end(item), "")
        # From the line of its dash, which a comment may stand behind, to the end of its last line.
        column = items.start_mark.column
        line = text.rfind("\n", 0, start) + 1
        while line and text[line + column : line + column + 1] != "-":
            line = text.rfind("\n", 0, line - 1) + 1
        end = text.find("\n", self._end(item))
        return _Edit(line, len(text) if end < 0 else end + 1, "")

    def _end(self, node: Node) -> int:
        """Where the text of a node ends. A block's own mark stands behind the comments that follow it."""
        if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        start: int = node.start_mark.index
        return start + len(self.text[start : node.end_mark.index].rstrip())

    def _line(self, position: int) -> int:
        """Where the line ends that this position is in."""
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end - (self.text[end - 1] == "\r")

    @property
    def _line_end(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _edited(self, edits: list[_Edit]) -> Patch:
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        patch = Patch(self.path, text)
        try:
            _ = patch._root
        except ToolpruneError as error:
            raise self._refusal() from error
        return patch

    def _refusal(self) -> ToolpruneError:
        return ToolpruneError(
            f"{self.path} is written in a way that cannot be edited safely: edit its row with the id {ID} by hand"
        )


def _flow(value: Any) -> str:
    # JSON is YAML.
    return json.dumps(value, ensure_ascii=False)


def _pair(node: Any, key: str) -> tuple[Any, Any]:
    pairs = node.value if isinstance(node, MappingNode) else []
    found = ((name, value) for name, value in pairs if isinstance(name, ScalarNode) and name.value == key)
    return next(found, (None, None))


def _value(node: Any, key: str) -> Any:
    """What a mapping has under a key; None where it is no mapping or has no such key."""
    return _pair(node, key)[1]


def _text(node: Any) -> str | None:
    is_text = isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:str"
    return str(node.value) if is_text else None


def _disabled(row: Any) -> bool:
    value = _value(row, "disabled")
    return isinstance(value, ScalarNode) and value.tag == "tag:yaml.org,2002:bool" and value.value.lower() == "true"


def _lone(found: _Found) -> bool:
    """Whether the row of the file is there for ours only."""
    return len(found.entry.value) == 1 and len(found.inserted.value) == 1


def _plain(node: Any, without: list[Any] | None = None) -> Any:
    """What a node means, whatever way it is written, without some of its parts."""
    without = without or []
    if isinstance(node, MappingNode):
        return node.tag, [(_plain(key), _plain(value, without)) for key, value in node.value]
    if isinstance(node, SequenceNode):
        return node.tag, [_plain(each, without) for each in node.value if each not in without]
    return node.tag, node.value
