//! The command, run as users run it. The modules are one program, as each program takes as long to link as the command.
//! What fills a machine has a program of its own: `load`, `soak` and `kernel`.

mod cache_command;
mod cache_file;
mod caching;
mod chains;
mod compare;
mod contract;
mod crls;
mod datagrams;
mod demo;
mod handshake;
mod hangup;
mod identity;
mod identity_early_data;
mod join_proxy;
mod masa;
mod masa_log;
mod masa_register;
mod masa_vouchers;
mod onboarding;
mod pkcs11;
mod pki;
mod psk;
mod raw_keys;
mod refusals;
mod registrar;
mod resumption;
mod sim;
mod sim_new;
mod staples;
mod sweep;
mod tls12;
mod units;
