//! The registrar over real sockets, with devices and a MASA that are scripts of `terse-brski`.

#[path = "pages/browser.rs"]
mod browser;
mod coaps;
mod coaps_faults;
mod coaps_pledge;
mod cose;
mod crl;
#[path = "databases/sqlite.rs"]
mod database;
mod enrolment;
mod est_config;
mod est_faults;
mod est_limits;
mod est_server;
mod exchange;
#[path = "watched/exposition.rs"]
mod exposition;
mod faults;
mod fetched;
mod history;
mod manufacturers;
mod masa;
mod operator;
mod outage;
mod pages;
mod raw_keys;
mod reload;
mod repeats;
mod replicas;
mod revocation;
mod scripted_est;
mod scripted_masa;
mod strangers;
mod watched;
mod world;
