//! The registrar over real sockets, with devices and a MASA that are scripts of `terse-brski`.

mod enrolment;
mod exchange;
mod faults;
mod fetched;
mod manufacturers;
mod masa;
mod operator;
mod outage;
mod repeats;
mod scripted_masa;
mod world;
