"""Charges of the ledger as rows of FOCUS 1.0, the FinOps billing format: one per hour, cluster,
machine type, zone and capacity type.

A column BigFleet does not know is empty; columns of our own begin with `x_`.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from bigfleet.costs.meter import HOUR
from bigfleet.model.costs import SHARED, Charge
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND

#: Who sells a machine is not in a price; FOCUS allows no empty name.
UNKNOWN = "unknown"
_PRICING = {"OnDemand": "Standard", "Spot": "Dynamic", "Reserved": "Committed"}
COLUMNS = (
    *("AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName"),
    *("BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory"),
    *("ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd"),
    *("ChargePeriodStart", "CommitmentDiscountCategory", "CommitmentDiscountId"),
    *("CommitmentDiscountName", "CommitmentDiscountStatus", "CommitmentDiscountType"),
    *("ConsumedQuantity", "ConsumedUnit", "ContractedCost", "ContractedUnitPrice"),
    *("EffectiveCost", "InvoiceIssuerName", "ListCost", "ListUnitPrice", "PricingCategory"),
    *("PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "RegionId"),
    *("RegionName", "ResourceId", "ResourceName", "ResourceType", "ServiceCategory"),
    *("ServiceName", "SkuId", "SkuPriceId", "SubAccountId", "SubAccountName", "Tags"),
    *("x_CommittedMachineHours", "x_IdleCost", "x_ImputedCost", "x_WasteCost"),
)


def focus_csv(charges_of_shard: Mapping[str, Iterable[Charge]]) -> str:
    """By shard, which is the billing account."""
    written = io.StringIO()
    writer = csv.DictWriter(written, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(focus_rows(charges_of_shard))
    return written.getvalue()


def focus_rows(
    charges_of_shard: Mapping[str, Iterable[Charge]],
) -> Iterator[dict[str, object]]:
    for shard, charges in charges_of_shard.items():
        for charge in charges:
            yield focus_row(shard, charge)


def focus_row(shard: str, charge: Charge) -> dict[str, object]:
    amounts, cluster = charge.amounts, charge.cluster
    month, next_month = _month_of(charge.hour)
    billed, hours = _money(amounts.billed), _money(amounts.machines)
    unit_price = _money(amounts.billed / amounts.machines) if amounts.machines else ""
    kind = charge.instance_type or UNKNOWN
    owner = f"serving {cluster}" if cluster != SHARED else "shared idle"
    return {
        "AvailabilityZone": charge.zone,
        "BilledCost": billed,
        "BillingAccountId": shard,
        "BillingAccountName": shard,
        "BillingCurrency": "USD",
        "BillingPeriodStart": month,
        "BillingPeriodEnd": next_month,
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{kind} {charge.capacity_type} {owner}",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": instant_text(charge.hour),
        "ChargePeriodEnd": instant_text(charge.hour + HOUR),
        "ConsumedQuantity": hours,
        "ConsumedUnit": "Hours",
        "ContractedCost": billed,
        "ContractedUnitPrice": unit_price,
        "EffectiveCost": billed,
        "InvoiceIssuerName": UNKNOWN,
        "ListCost": billed,
        "ListUnitPrice": unit_price,
        "PricingCategory": _PRICING.get(charge.capacity_type, "Other"),
        "PricingQuantity": hours,
        "PricingUnit": "Hours",
        "ProviderName": UNKNOWN,
        "PublisherName": UNKNOWN,
        "ResourceType": kind,
        "ServiceCategory": "Compute",
        "ServiceName": f"{charge.capacity_type} machines",
        "SkuId": kind,
        "SkuPriceId": f"{kind}/{charge.zone or '-'}/{charge.capacity_type}",
        "SubAccountId": cluster,
        "SubAccountName": cluster,
        "x_CommittedMachineHours": _money(amounts.committed),
        "x_IdleCost": _money(amounts.idle),
        "x_ImputedCost": _money(amounts.imputed),
        "x_WasteCost": _money(amounts.waste),
    }


def _month_of(at: Instant) -> tuple[str, str]:
    day = datetime.fromtimestamp(at // SECOND, UTC)
    begins = datetime(day.year, day.month, 1, tzinfo=UTC)
    ends = datetime(day.year + day.month // 12, day.month % 12 + 1, 1, tzinfo=UTC)
    return _text(begins), _text(ends)


def _text(day: datetime) -> str:
    return instant_text(int(day.timestamp()) * SECOND)


def _money(amount: float) -> str:
    """As many digits as a price has, never an exponent, and no zero below zero."""
    return f"{round(amount, 8) + 0.0:.8f}"
