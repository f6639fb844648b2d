"""What of a twin's file is not run on a server, because no capture writes it or because it needs more than a database.

A twin may come from anybody: what it holds is run as the owner of one database, and only after it was read.
"""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class ObjectRefusal(str, Enum):
    """Why an object is left out without being tried.

    unreadable: it is not exactly one statement that the SQL parser can read. statement: a capture writes no statement
    of that kind for such an object. language: a function in a language that is neither sql nor plpgsql. extension: one
    that is not among those known to stay within the database. name: a name that is not one of a table or sequence.
    """

    UNREADABLE = "unreadable"
    STATEMENT = "statement"
    LANGUAGE = "language"
    EXTENSION = "extension"
    NAME = "name"


class RefusedObject(Record):
    """``kind`` is that of the object in the file; ``detail`` the statement's kind, the language or the extension."""

    kind: str
    name: str
    refusal: ObjectRefusal
    detail: str = ""
