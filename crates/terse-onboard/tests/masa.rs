//! The MASA on real sockets, as registrars meet it: what it issues and refuses, what is left of it after it was killed, and
//! what happens when two of them have one database.

mod backup;
#[path = "pages/browser.rs"]
mod browser;
mod by_hand;
mod cose;
mod customers;
#[path = "databases/sqlite.rs"]
mod database;
#[path = "watched/exposition.rs"]
mod exposition;
mod faults;
mod issue;
mod log;
mod moved;
mod old;
mod operator;
mod pages;
mod raw_keys;
mod refusals;
mod reload;
mod revocation;
mod scene;
mod strangers;
mod tampered;
mod watched;
