"""Where did the time of this RL run go, when will it end, what should I change?"""

__version__ = "0.1.0"
