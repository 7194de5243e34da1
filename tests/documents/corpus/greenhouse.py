"""Greenhouse: controls the vents, lamps and pumps of a greenhouse."""

from __future__ import annotations

import time
from dataclasses import dataclass

MAX_HUMIDITY = 85
"""Percent above which the vents open, whatever the temperature."""


@dataclass
class Reading:
    """One reading of the sensors."""

    celsius: float
    humidity: float
    lux: float


class Vent:
    """A roof window with a motor, which moves one percent a second."""

    def __init__(self, pin: int) -> None:
        self.pin = pin
        self.opening = 0

    def move(self, target: int) -> None:
        """Moves the window to a target opening. A storm warning keeps it shut."""
        if storm_warning():
            target = 0
        step = 1 if target > self.opening else -1
        while self.opening != target:
            self.opening += step
            time.sleep(1)

    def calibrate(self) -> None:
        """Closes the window until the limit switch clicks, and calls that zero."""
        while not limit_switch(self.pin):
            self.opening -= 1
        self.opening = 0


class Pump:
    """A water pump that runs dry when the tank is empty."""

    def water(self, litres: float) -> float:
        """Waters a bed and returns the litres that it took. Stops early when the tank sensor reports less than five litres."""
        given = 0.0
        while given < litres and tank_level() > 5:
            given += 0.1
        return given


def wanted_opening(reading: Reading, setpoint: float = 24.0) -> int:
    """How far the vents should be open, in percent: eight percent for each degree above the set point."""
    if reading.humidity > MAX_HUMIDITY:
        return 100
    return max(0, min(100, round((reading.celsius - setpoint) * 8)))


def lamps_needed(reading: Reading, hour: int) -> bool:
    """Whether the grow lamps should burn: between six and twenty o'clock, below 9,000 lux."""
    return 6 <= hour < 20 and reading.lux < 9_000


def storm_warning() -> bool:
    """Asks the weather station whether wind above 60 km/h is expected within the hour."""
    return weather_station().wind_soon() > 60


def send_alarm(text: str) -> None:
    """Sends a text message to the gardener, at most one in a quarter of an hour."""
    if time.time() - last_alarm() > 900:
        modem().send(text)
