//! The registrar's tests once more, on PostgreSQL.

#[path = "pages/browser.rs"]
mod browser;
#[path = "registrar/coaps.rs"]
mod coaps;
#[path = "registrar/coaps_pledge.rs"]
mod coaps_pledge;
#[path = "registrar/cose.rs"]
mod cose;
#[path = "registrar/crl.rs"]
mod crl;
#[path = "databases/postgres.rs"]
mod database;
#[path = "registrar/enrolment.rs"]
mod enrolment;
#[path = "registrar/est_config.rs"]
mod est_config;
#[path = "registrar/est_faults.rs"]
mod est_faults;
#[path = "registrar/est_limits.rs"]
mod est_limits;
#[path = "registrar/est_server.rs"]
mod est_server;
#[path = "registrar/exchange.rs"]
mod exchange;
#[path = "watched/exposition.rs"]
mod exposition;
#[path = "registrar/faults.rs"]
mod faults;
#[path = "registrar/fetched.rs"]
mod fetched;
#[path = "registrar/history.rs"]
mod history;
#[path = "registrar/masa.rs"]
mod masa;
#[path = "registrar/operator.rs"]
mod operator;
#[path = "registrar/outage.rs"]
mod outage;
#[path = "registrar/pages.rs"]
mod pages;
#[path = "registrar/raw_keys.rs"]
mod raw_keys;
#[path = "registrar/reload.rs"]
mod reload;
#[path = "registrar/repeats.rs"]
mod repeats;
#[path = "registrar/replicas.rs"]
mod replicas;
#[path = "registrar/revocation.rs"]
mod revocation;
#[path = "registrar/scripted_est.rs"]
mod scripted_est;
#[path = "registrar/scripted_masa.rs"]
mod scripted_masa;
#[path = "registrar/watched.rs"]
mod watched;
#[path = "registrar/world.rs"]
mod world;
