//! Handshake caching from end to end, our client against our server, by the rules in `docs`: one file for each rule, the
//! form on the wire, hostile sides, and random sequences against the behaviour without a cache.

mod code_point;
mod faults_client;
mod faults_server;
mod model;
mod rule1;
mod rule2;
mod rule2_failures;
mod rule3;
mod rule4;
mod rule5_client;
mod rule5_server;
mod rule8;
mod schedule;
mod wire;
mod world;
