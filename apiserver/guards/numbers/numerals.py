"""Numerals of Chinese, Japanese and Korean: their characters, counters and words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apiserver.guards.numbers.mentions import HALF, MINUS, Reading

_HALF: Final[tuple[Reading, ...]] = ((HALF,), (30,), (50,))
_HALF_YEAR: Final[tuple[Reading, ...]] = ((6,), (HALF,))
_QUARTER: Final[tuple[Reading, ...]] = ((15,), (-15,), (45,), (30,), (4,))
_MIDDAY: Final[tuple[Reading, ...]] = ((12,), (24,))
_MINUS: Final[tuple[Reading, ...]] = ((MINUS,),)
_TEENS: Final[tuple[Reading, ...]] = ((10,), (13,))
_FORTNIGHT: Final[tuple[Reading, ...]] = ((15,), (14,), (2,))


_NOTHING: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Numerals:
    """A language's numerals.

    ``words`` finds numerals (group "numerals"), native numbers ("native") and hints ("hint"). Numerals are demanded from
    a translation only if ``counters`` matches behind them, and ``other_before`` and ``other_words`` do not match.
    """

    units: Mapping[str, int]
    scales: Mapping[str, int]
    words: str
    counters: re.Pattern[str]
    other_before: re.Pattern[str]
    other_words: re.Pattern[str]
    native: Mapping[str, int]
    hints: Mapping[str, tuple[Reading, ...]]
    native_counters: re.Pattern[str] = _NOTHING
    least: int = 2


def _values(groups: str) -> dict[str, int]:
    return {char: value for value, chars in enumerate(groups.split()) for char in chars}


def _hints(*groups: tuple[str, tuple[Reading, ...]]) -> dict[str, tuple[Reading, ...]]:
    return {word: readings for words, readings in groups for word in words.split()}


def _one_of(words: Mapping[str, object]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_HAN_UNITS: Final = _values("〇零 一壱壹 二两兩両弐贰俩 三参叁仨 四肆 五伍 六陆 七柒 八捌 九玖")
_HAN_SCALES: Final = {
    "十": 10,
    "拾": 10,
    "廿": 20,
    "卅": 30,
    "百": 100,
    "佰": 100,
    "千": 1000,
    "仟": 1000,
    "万": 10**4,
    "萬": 10**4,
    "億": 10**8,
    "亿": 10**8,
    "兆": 10**12,
}
# 千米 is a kilometre.
_HAN: Final = f"(?P<numerals>(?:(?!千[米克瓦卡赫])[{''.join((*_HAN_UNITS, *_HAN_SCALES))}])+)"

_JAPANESE_HINTS: Final = _hints(
    ("半年", _HALF_YEAR),
    ("半 ハーフ", _HALF),
    ("ひとつ ひとり", ((1,),)),
    ("ふたつ ふたり 双 倍 ペア ダブル ふつか 次男 次女", ((2,),)),
    ("みっつ みつ みっか トリプル", ((3,),)),
    ("よっつ よつ よっか", ((4,),)),
    ("いつつ いつか", ((5,),)),
    ("むっつ むいか", ((6,),)),
    ("ななつ なのか なな", ((7,),)),
    ("やっつ ようか", ((8,),)),
    ("ここのつ ここのか", ((9,),)),
    ("とお とおか", ((10,),)),
    ("はたち", ((20,),)),
    ("ダース", ((12,), (6,))),
    ("正午 真夜中 お昼 昼", _MIDDAY),
    ("世紀", ((100,),)),
    ("ティーンエイジャー", _TEENS),
    ("ゼロ", ((0,),)),
    ("マイナス 氷点下 零下", _MINUS),
)
JAPANESE: Final = Numerals(
    _HAN_UNITS,
    _HAN_SCALES,
    rf"(?P<hint>{_one_of(_JAPANESE_HINTS)})|{_HAN}",
    re.compile(
        r"人|名|年|月|日|時|分|秒|歳|才|回|個|箇|つ|冊|本|枚|匹|頭|羽|台|階|週|[ヶケカか]月|[ヶケカか]国|円|番|倍|杯|件|軒|足"
        r"|着|通|種|パーセント|点|行|ページ|キロ|メートル|世紀|章|対|ドル|ユーロ|代"
    ),
    re.compile(r"[何数幾]$"),
    re.compile(r"十分|十数|万年|百年|三日月|三角|四季|一|千代|三者|八つ当|百人一首|千秋"),
    {},
    _JAPANESE_HINTS,
    least=3,  # 二人 is also "together", 二階 "upstairs"
)
_CHINESE_HINTS: Final = _hints(
    ("半年", _HALF_YEAR),
    ("半", _HALF),
    ("刻", _QUARTER),
    ("双 对 雙 對 倍", ((2,),)),
    ("打", ((12,), (6,))),
    ("正午 中午 午夜 半夜", _MIDDAY),
    ("世纪 世紀", ((100,),)),
    ("青少年 十几", _TEENS),
    ("零下 负 負", _MINUS),
)
CHINESE: Final = Numerals(
    _HAN_UNITS,
    _HAN_SCALES,
    rf"(?P<hint>{_one_of(_CHINESE_HINTS)})|{_HAN}",
    re.compile(
        r"[个個位名年月日号號天点點分秒岁歲次本张張只隻辆輛层層楼樓块塊元条條件倍种種口家杯瓶米间間场場门門句字页頁章届屆度头頭匹艘支]"
        r"|小时|小時|星期|美元|欧元|公里|世纪|世紀|英里|分钟|人(?!生|们)"
    ),
    re.compile(r"(?:星期|礼拜|禮拜|周|週|百分之|分之|[几幾数數])$"),
    re.compile(
        r"十分(?!钟|鐘)|十[几幾]|百分|万一|千万(?:不|别|要)|三天两头|百年|四分五|七上八|三心二|五花八|四处|百口|四方|四面|十字|百日|千金"
    ),
    {},
    _CHINESE_HINTS,
)

_HANGUL_UNITS: Final = _values("영공 일 이 삼 사 오 육륙 칠 팔 구")
_HANGUL_SCALES: Final = {"십": 10, "백": 100, "천": 1000, "만": 10**4, "억": 10**8, "조": 10**12}
_NATIVE_TENS: Final = dict(
    zip(
        ["열", "스물", "스무", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"],
        (10, 20, 20, *range(30, 100, 10)),
        strict=True,
    )
)
_NATIVE_UNITS: Final = dict(
    zip(
        ["하나", "한", "둘", "두", "셋", "세", "넷", "네", "다섯", "여섯", "일곱", "여덟", "아홉"],
        (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9),
        strict=True,
    )
)
_NATIVE: Final = (
    {
        ten + gap + unit: value + number
        for gap in ("", " ")
        for ten, value in _NATIVE_TENS.items()
        for unit, number in _NATIVE_UNITS.items()
    }
    | _NATIVE_TENS
    | _NATIVE_UNITS
)
_KOREAN_HINTS: Final = _hints(
    ("반년", _HALF_YEAR),
    ("반 절반", _HALF),
    ("쌍 양쪽 이틀 두번째 둘째 양 부부 커플", ((2,),)),
    ("사흘 셋째 세쌍둥이", ((3,),)),
    ("나흘 넷째", ((4,),)),
    ("닷새", ((5,),)),
    ("엿새", ((6,),)),
    ("이레", ((7,),)),
    ("여드레", ((8,),)),
    ("아흐레", ((9,),)),
    ("열흘", ((10,),)),
    ("보름", _FORTNIGHT),
    ("서너 서넛", ((3, 4),)),
    ("두세 두서너", ((2, 3),)),
    ("너댓 네댓 네다섯", ((4, 5),)),
    ("대여섯", ((5, 6),)),
    ("예닐곱", ((6, 7),)),
    ("다스", ((12,), (6,))),
    ("정오 자정 한밤", _MIDDAY),
    ("십대 청소년", _TEENS),
    ("세기", ((100,),)),
    ("제로", ((0,),)),
    ("영하 마이너스", _MINUS),
)
_HANGUL_NUMERALS: Final = "".join((*_HANGUL_UNITS, *_HANGUL_SCALES))
# After native numbers; behind Sino-Korean ones come more.
_NATIVE_COUNTERS: Final = "시|명|사람|개|번|살|마리|권|장|달|잔|대|배|가지|병|곳|켤레|자루|주|분|송이|그루|채|벌"
KOREAN: Final = Numerals(
    _HANGUL_UNITS,
    _HANGUL_SCALES,
    rf"(?<![가-힣])(?P<hint>{_one_of(_KOREAN_HINTS)})|(?<![가-힣])(?P<native>{_one_of(_NATIVE)})|(?:(?<![가-힣])|(?<=\d))(?P<numerals>[{_HANGUL_NUMERALS}]+)",
    re.compile(
        rf"\s?(?:{_NATIVE_COUNTERS}|년|월|일|초|원|층|호|세|퍼센트|프로|미터|킬로|도|달러|유로|점|페이지|쪽|째)"
    ),
    _NOTHING,
    _NOTHING,
    _NATIVE,
    _KOREAN_HINTS,
    re.compile(rf"\s?(?:{_NATIVE_COUNTERS})"),
)
NUMERALS: Final[Mapping[str, Numerals]] = {"ja": JAPANESE, "zh": CHINESE, "ko": KOREAN}
