//! The registrar over real sockets, with devices and a MASA that are scripts of `terse-brski`.

#[path = "../databases/sqlite.rs"]
mod database;
mod enrolment;
mod exchange;
mod faults;
mod history;
mod manufacturers;
mod masa;
mod operator;
mod repeats;
mod replicas;
mod scripted_masa;
mod world;
