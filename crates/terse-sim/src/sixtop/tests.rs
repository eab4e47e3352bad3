//! Nodes with 6top on a virtual clock, between which messages and acknowledgements get lost.

mod diagrams;
mod losses;
mod msf;
mod pid;
mod tunnel;
mod world;
