"""An answer of a counterfactual with every field set."""

from bigfleet.model.counterfactuals import CounterfactualAnswer, ToldChange, ToldLoser
from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources

ANSWER = CounterfactualAnswer(
    "3:18231",
    NeedKey("shop", "p=1|x", "g"),
    "n3f9c",
    1000,
    False,
    Resources.of({"cpu": 4000}),
    (
        ToldChange(
            "priority 1001 instead of 1000, and 2 units less",
            ("priority", "smaller"),
            (1001, 2),
            True,
            Resources(),
            -1.5,
            64.0,
            1,
            2,
            (
                ToldLoser(NeedKey("bank", "p=2|x", ""), Resources.of({"cpu": 2000})),
                ToldLoser(NeedKey("shop", "p=3|x", ""), Resources.of({"memory": 5})),
            ),
            30,
            7,
            False,
            ("priority need/shop/n3f9c =1001",),
        ),
        ToldChange(
            "2 more machines of std-8", ("machines",), (2,), False, Resources.of({"cpu": 1}), 0.5
        ),
    ),
    False,
    19,
    2000,
    2,
    ("the budget is 30 s at most",),
)
