//! The MASA on real sockets, as registrars meet it: what it issues and refuses, what is left of it after it was killed, and
//! what happens when two of them have one database.

#[path = "../pages/browser.rs"]
mod browser;
mod cose;
mod customers;
#[path = "../databases/sqlite.rs"]
mod database;
mod faults;
mod issue;
mod old;
mod operator;
mod pages;
mod raw_keys;
mod refusals;
mod revocation;
mod scene;
mod tampered;
