//! The decisions of registrar and MASA, by their public face: each thing that can be wrong, one at a time, and the roles
//! against each other (RFC 8995, 5.3 to 5.9).

mod cose;
mod domains;
mod ed25519;
mod fetched;
mod garbage;
mod impostor;
mod masa;
mod paths;
mod pins;
mod pledge;
mod registrar;
mod roles;

mod scene;
mod vectors;
mod work;
