"""DeepSeek: each call is `<｜tool▁call▁begin｜>f<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, all between two more.

Before V3.1 the name stood behind `function<｜tool▁sep｜>`, and the arguments in a fence of ```json.
"""

from __future__ import annotations

from engine.parsers.json_calls import JsonCalls
from engine.parsers.pieces import Steps
from engine.tool_grammar import CallNotation

_ALL_BEGIN, _ALL_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_BEGIN, _SEPARATOR, _END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"

NAMED = CallNotation(opening=_ALL_BEGIN, before=f"{_BEGIN}{{name}}{_SEPARATOR}", after=_END, closing=_ALL_END)
FENCED = CallNotation(
    opening=_ALL_BEGIN,
    before=f"{_BEGIN}function{_SEPARATOR}{{name}}\n```json\n",
    after=f"\n```{_END}",
    between="\n",
    closing=_ALL_END,
)


class DeepSeekParser(JsonCalls):
    opens = (_ALL_BEGIN, _BEGIN, _ALL_END)
    inside = (_SEPARATOR, _END)

    def _read_call(self, mark: str) -> Steps[None]:
        if mark != _BEGIN:
            return
        name, _ = yield from self._name_until(_SEPARATOR)
        is_fenced = (yield from self._sign()) != "{"
        if (yield from self._skip(_END)):            # without arguments
            self._open_call(name)
            return
        if is_fenced:
            name, _ = yield from self._name_until("\n")
        self._open_call(name)
        if is_fenced and (yield from self._skip("```json")):
            yield from self._sign()
        yield from self._read_arguments()
        yield from self._sign()
        if is_fenced and (yield from self._skip("```")):
            yield from self._sign()
        yield from self._skip(_END)
