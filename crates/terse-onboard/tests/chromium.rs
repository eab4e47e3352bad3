//! The status pages of registrar and MASA in Chromium, as operators have them: all pages that links and forms lead to, with the
//! mouse and with the keyboard, light and dark, and as narrow as a telephone. Without Chromium or chromedriver the tests say so
//! and are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.
//!
//! With `TERSE_PICTURES=/tmp/pictures` there are pictures of all pages in that folder afterwards.

mod checks;
#[path = "databases/sqlite.rs"]
mod database;
mod driver;
mod hand;
mod masa;
#[allow(dead_code)] // a part of it is enough here, and so it is below
#[path = "foreign/programs.rs"]
mod programs;
mod registrar;
#[allow(dead_code)]
#[path = "masa/scene.rs"]
mod scene;
#[allow(dead_code)]
#[path = "registrar/scripted_masa.rs"]
mod scripted_masa;
mod walk;
#[allow(dead_code)]
#[path = "registrar/world.rs"]
mod world;
