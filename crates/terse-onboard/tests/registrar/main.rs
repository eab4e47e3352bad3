//! The registrar over real sockets, with devices and a MASA that are scripts of `terse-brski`.

mod enrolment;
mod est_config;
mod est_faults;
mod est_server;
mod exchange;
mod faults;
mod manufacturers;
mod masa;
mod operator;
mod repeats;
mod scripted_est;
mod scripted_masa;
mod world;
