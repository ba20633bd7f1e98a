//! Holds the tests of this folder.
