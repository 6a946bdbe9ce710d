"""The launcher's sentences in the reader's language. English stands where it is said; the table holds Chinese by it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

__all__ = ["CHINESE", "language_of", "say"]

CHINESE: Mapping[str, str] = {
    # the form
    "Task": "任务",
    "Refresh": "刷新",
    "Look for tasks that were registered since": "查找新注册的任务",
    "Submit": "提交",
    "Options": "选项",
    "No task is registered yet. controller.register(my_task) adds one.": (
        "还没有注册任务。用 controller.register(my_task) 注册一个。"
    ),
    "It takes no arguments.": "它不需要参数。",
    "choose…": "请选择…",
    "required": "必填",
    "empty: None": "留空：None",
    "default: {default}": "默认：{default}",
    # options
    "name": "名称",
    "attempts": "尝试次数",
    "time limit": "时限",
    "tags": "标签",
    "what panels call it": "面板中显示的名称",
    "how often it is tried in all": "总共尝试几次",
    "seconds a try may take; empty: no limit": "每次尝试最多用多少秒；留空则不限时",
    "separated by commas, beside the task's own": "用逗号分隔，附加在任务自身的标签上",
    # what goes into a field
    "yes or no": "是或否",
    "whole number": "整数",
    "number": "数字",
    "text": "文本",
    "path": "路径",
    "one of these": "其中之一",
    "date": "日期",
    "date and time, such as 2026-11-30 14:05": "日期和时间，例如 2026-11-30 14:05",
    "JSON list, such as [1, 2]": "JSON 列表，例如 [1, 2]",
    'JSON object, such as {"a": 1}': 'JSON 对象，例如 {"a": 1}',
    "Python value, such as 1, 'text' or [1, 2]": "Python 值，例如 1、'text' 或 [1, 2]",
    # what is wrong
    "fill this in": "请填写此项",
    "choose one": "请选择一项",
    "write a whole number, such as 10": "请填写整数，例如 10",
    "write a number, such as 0.5 or 1e-3": "请填写数字，例如 0.5 或 1e-3",
    "write a date and a time, such as 2026-11-30 14:05, and +01:00 after it for a time zone": (
        "请填写日期和时间，例如 2026-11-30 14:05，后面可加时区 +01:00"
    ),
    "write a JSON list, such as [1, 2]; text goes in double quotes{at}": (
        "请填写 JSON 列表，例如 [1, 2]；文本用双引号{at}"
    ),
    'write a JSON object, such as {{"a": 1}}; text goes in double quotes{at}': (
        '请填写 JSON 对象，例如 {{"a": 1}}；文本用双引号{at}'
    ),
    "write a Python value: 1, 'text' in quotes, [1, 2], {'a': 1}, True, None": (
        "请填写 Python 值：1、带引号的 'text'、[1, 2]、{'a': 1}、True、None"
    ),
    "its members must be plain values: text, numbers, true or false": "成员必须是简单的值：文本、数字、true 或 false",
    "write 1 or more": "请填写 1 或更大的数",
    "write more than 0 seconds, or leave it empty for no limit": "请填写大于 0 的秒数，留空则不限时",
    "1 value is missing or wrong: see above.": "有 1 处缺失或错误：见上。",
    "{count} values are missing or wrong: see above.": "有 {count} 处缺失或错误：见上。",
    "Submitted {name}; its card cannot be shown: {why}": "已提交 {name}；卡片无法显示：{why}",
    "Not submitted: {why}": "未提交：{why}",
}


def language_of(wanted: str | None) -> str:
    """``"en"`` or ``"zh"``: what is wanted, else what this process's locale says.

    Args:
        wanted: A language, or None.
    """
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or "en"
    return wanted or ("zh" if locale.lower().startswith("zh") else "en")


def say(language: str, text: str, **values: Any) -> str:
    """The sentence with its values, where it has any.

    Args:
        language: ``"en"`` or ``"zh"``.
        text: In English.
        values: What stands for the {names} in it; without any, braces are what they look like.
    """
    found = CHINESE.get(text, text) if language == "zh" else text
    return found.format(**values) if values else found
