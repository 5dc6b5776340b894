"""The names of days and months, in full and short."""

from __future__ import annotations

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_LONGER = {"Tues": "tuesday", "Weds": "wednesday", "Thur": "thursday", "Thurs": "thursday", "Sept": "september"}
ABBREVIATED = {name[:3].capitalize(): name for name in (*WEEKDAYS, *MONTHS)} | _LONGER
