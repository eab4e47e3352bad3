//! The MASA's tests once more, on PostgreSQL.

mod backup;
#[path = "pages/browser.rs"]
mod browser;
#[path = "masa/by_hand.rs"]
mod by_hand;
#[path = "masa/cose.rs"]
mod cose;
#[path = "masa/customers.rs"]
mod customers;
#[path = "databases/postgres.rs"]
mod database;
#[path = "watched/exposition.rs"]
mod exposition;
#[path = "masa/faults.rs"]
mod faults;
#[path = "masa/issue.rs"]
mod issue;
#[path = "masa/log.rs"]
mod log;
#[path = "masa/moved.rs"]
mod moved;
#[path = "masa/operator.rs"]
mod operator;
#[path = "masa/pages.rs"]
mod pages;
#[path = "masa/raw_keys.rs"]
mod raw_keys;
#[path = "masa/refusals.rs"]
mod refusals;
#[path = "masa/reload.rs"]
mod reload;
#[path = "masa/scene.rs"]
mod scene;
#[path = "masa/tampered.rs"]
mod tampered;
#[path = "masa/watched.rs"]
mod watched;
