//! The registrar's tests once more, on PostgreSQL.

#[path = "../databases/postgres.rs"]
mod database;
#[path = "../registrar/enrolment.rs"]
mod enrolment;
#[path = "../registrar/exchange.rs"]
mod exchange;
#[path = "../registrar/faults.rs"]
mod faults;
#[path = "../registrar/history.rs"]
mod history;
#[path = "../registrar/operator.rs"]
mod operator;
#[path = "../registrar/repeats.rs"]
mod repeats;
#[path = "../registrar/replicas.rs"]
mod replicas;
#[path = "../registrar/scripted_masa.rs"]
mod scripted_masa;
#[path = "../registrar/world.rs"]
mod world;
