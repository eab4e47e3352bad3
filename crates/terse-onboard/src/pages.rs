//! The status pages of a service, for the operator of a plant: what both services have in common. What is on the pages is in
//! `registrar::pages` and `masa::pages`.
//!
//! | module | content |
//! |---|---|
//! | `config` | the keys of `[pages]`, and which of them must be there |
//! | `listener` | connections, over TLS or plain at a loopback address |
//! | `gate` | what a request must be before a page sees it |
//! | `host` | where a request was sent to, and from which page it comes |
//! | `session` | cookies, tokens of forms, and who is logged in |
//! | `password` | the users, and how often somebody may try |
//! | `fields` | queries, forms and cookies as they are read |
//! | `layout`, `text` | HTML around and in pages |
//!
//! What must always hold: nobody but an operator sees a page: at a loopback address that is whoever is on the machine, and
//! anywhere else who has authenticated himself over TLS; a GET changes nothing; a POST changes something only if the form
//! was made by this process for this session; what devices and peers have said is shown as text, whatever it is; a client
//! costs a bounded place and time, and a database query a bounded number of rows.

mod config;
mod fields;
mod gate;
mod host;
mod layout;
mod listener;
mod password;
mod session;
mod text;

pub use config::{HashedPassword, PagesConfig, UserConfig};
pub use password::{PasswordRefused, hash_password};

pub(crate) use config::PagesSettings;
pub(crate) use fields::Fields;
pub(crate) use layout::{Confirmation, Page, Problem, confirmation, facts, next_link, search, table};
pub(crate) use listener::Pages;
pub(crate) use text::{date, from_hex, hex, percent, shown, spelled};

/// What a service has on its pages.
pub(crate) trait Site: Send + Sync + 'static {
    /// The name of the service, in titles.
    const NAME: &'static str;

    /// The pages of the menu: the path and the name of each.
    const MENU: &'static [(&'static str, &'static str)];

    /// Returns the page at a path. It changes nothing.
    fn show(
        &self,
        path: &str,
        fields: &Fields,
        visitor: &Visitor,
    ) -> impl Future<Output = Result<Page, Problem>> + Send;

    /// Carries out the form that was sent to a path. Returns where its outcome is.
    fn change(
        &self,
        path: &str,
        fields: &Fields,
        visitor: &Visitor,
    ) -> impl Future<Output = Result<String, Problem>> + Send;
}

/// Who asks for a page.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// The name of the user or of the client certificate; `None` where nobody authenticates himself.
    pub(crate) name: Option<String>,
    /// The token that a form of this session must have.
    pub(crate) token: String,
    /// Whether the visitor can log out.
    pub(crate) has_session: bool,
}

impl Visitor {
    /// Returns the name for the log.
    pub(crate) fn logged(&self) -> &str {
        self.name.as_deref().unwrap_or("somebody on this machine")
    }
}
