"""The same functions as `library.js`, for componentize-py."""

from componentize_py_types import Err
from wit_world import WitWorld as Library
from wit_world.exports import Words as Exported
from wit_world.exports.words import Problem_InvalidInput, Problem_NotFound, Word


class WitWorld(Library):
    def upper(self, text):
        return text.upper()


class Words(Exported):
    def count(self, text):
        times = {}
        for word in text.split():
            times[word] = times.get(word, 0) + 1
        return sorted((Word(text, count) for text, count in times.items()), key=lambda word: -word.times)

    def longest(self, texts):
        there = [text for text in texts if text is not None]
        return max(there, key=len, default=None)

    def number(self, text):
        if text == "":
            raise Err(Problem_InvalidInput())
        try:
            return float(text)
        except ValueError:
            raise Err(Problem_NotFound(f"{text} is no number")) from None
