//! HTML around and in pages.
//!
//! What must always hold: no page has a script, a style or a resource of another place; each has a title, one heading of the
//! first rank, and a link behind the menu; each form has the token of its session.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use super::text::plain;
use super::{Site, Visitor};

/// A page of a service.
pub(crate) struct Page {
    /// Its name, in the title and as its heading.
    pub(crate) title: String,
    /// What is below the heading.
    pub(crate) content: Markup,
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no such page, device or the like.
    NotFound,
    /// A field is missing or wrong.
    Malformed,
    /// The database does not answer.
    Database,
}

/// A decision that is to be confirmed.
pub(crate) struct Confirmation<'a> {
    /// Where the form is sent to.
    pub(crate) action: &'a str,
    /// What its button says.
    pub(crate) button: &'a str,
    /// Its hidden fields.
    pub(crate) fields: &'a [(&'a str, &'a str)],
    /// Where somebody goes who does not confirm.
    pub(crate) back: &'a str,
    /// Whether it takes something away.
    pub(crate) is_severe: bool,
}

impl Page {
    pub(crate) fn new(title: impl Into<String>, content: Markup) -> Self {
        Self { title: title.into(), content }
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        tracing::error!(%error, "the database failed");
        Self::Database
    }
}

impl Problem {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Database => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::NotFound => "There is nothing here. It may have been removed since the page before was made.",
            Self::Malformed => {
                "Something in the address or in the form is not as this page makes it. Go back, and try again."
            }
            Self::Database => "The database does not answer. The log of the service says why; try again in a while.",
        }
    }
}

/// Returns a whole document.
pub(super) fn document<S: Site>(path: &str, visitor: Option<&Visitor>, page: &Page) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " – " (S::NAME) }
                link rel="stylesheet" href="/style.css";
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    p.site { (S::NAME) }
                    @if let Some(visitor) = visitor { (menu::<S>(path, visitor)) }
                }
                main #content tabindex="-1" {
                    h1 { (page.title) }
                    (page.content)
                }
            }
        }
    }
}

fn menu<S: Site>(path: &str, visitor: &Visitor) -> Markup {
    html! {
        nav aria-label="Pages" {
            ul {
                @for (target, name) in S::MENU {
                    li {
                        @if *target == path {
                            a href=(target) aria-current="page" { (name) }
                        } @else {
                            a href=(target) { (name) }
                        }
                    }
                }
            }
        }
        @if let Some(name) = &visitor.name {
            div.user {
                span { "You are " (super::shown(name)) }
                @if visitor.has_session {
                    form method="post" action="/logout" {
                        input type="hidden" name="token" value=(visitor.token);
                        button type="submit" { "Log out" }
                    }
                }
            }
        }
    }
}

/// The page on which somebody logs in, with what was wrong before.
pub(super) fn login(token: &str, problem: Option<&str>) -> Page {
    Page::new(
        "Log in",
        html! {
            @if let Some(problem) = problem {
                p.problem role="alert" { (problem) }
            }
            form.stacked method="post" action="/login" {
                input type="hidden" name="token" value=(token);
                label for="name" { "Name" }
                input #name name="name" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" required;
                label for="password" { "Password" }
                input #password name="password" type="password" autocomplete="current-password" required;
                button type="submit" { "Log in" }
            }
        },
    )
}

/// A page that says what is wrong.
pub(super) fn refused(title: &'static str, text: &str) -> Page {
    Page::new(
        title,
        html! {
            p { (text) }
            p { a href="/" { "Go to the overview" } }
        },
    )
}

/// A form that carries out a decision.
pub(crate) fn confirmation(visitor: &Visitor, confirmation: &Confirmation<'_>) -> Markup {
    html! {
        form.decision method="post" action=(confirmation.action) {
            input type="hidden" name="token" value=(visitor.token);
            @for (name, value) in confirmation.fields {
                input type="hidden" name=(name) value=(value);
            }
            button.severe[confirmation.is_severe] type="submit" { (confirmation.button) }
            a href=(confirmation.back) { "Do nothing, and go back" }
        }
    }
}

/// A table, whose rows are folded in a narrow window; or a text if it has no rows. The roles are those that the elements have
/// by themselves: a browser forgets them when rows are folded.
pub(crate) fn table(caption: &str, heads: &[&str], rows: &[Vec<Markup>], empty: &str) -> Markup {
    let head = |index: usize| heads.get(index).copied().unwrap_or_default();
    html! {
        @if rows.is_empty() {
            p.empty { (empty) }
        } @else {
            div.scroll role="region" aria-label=(caption) tabindex="0" {
                table role="table" {
                    caption { (caption) }
                    thead role="rowgroup" {
                        tr role="row" { @for head in heads { th scope="col" role="columnheader" { (head) } } }
                    }
                    tbody role="rowgroup" {
                        @for row in rows {
                            tr role="row" {
                                @for (index, cell) in row.iter().enumerate() {
                                    @if index == 0 {
                                        th scope="row" role="rowheader" data-head=(head(index)) { div { (cell) } }
                                    } @else {
                                        td role="cell" data-head=(head(index)) { div { (cell) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The form that searches by the beginning of a serial number, and by a state if there are any: the chosen one, and all.
pub(crate) fn search(action: &str, serial: &str, states: Option<(&str, &[(&str, &str)])>) -> Markup {
    html! {
        form.search method="get" action=(action) role="search" {
            div {
                label for="serial" { "Serial number begins with" }
                input #serial name="serial" type="search" value=(plain(serial)) maxlength="64" autocapitalize="none" spellcheck="false";
            }
            @if let Some((chosen, states)) = states {
                div {
                    label for="state" { "State" }
                    select #state name="state" {
                        @for (value, text) in states {
                            option value=(value) selected[*value == chosen] { (text) }
                        }
                    }
                }
            }
            button type="submit" { "Search" }
        }
    }
}

/// Names with values.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl {
            @for (name, value) in facts {
                div {
                    dt { (name) }
                    dd { (value) }
                }
            }
        }
    }
}

/// A link to the rows that follow, if there are any.
pub(crate) fn next_link(target: Option<String>) -> Markup {
    html! {
        @if let Some(target) = target {
            p.next { a rel="next" href=(target) { "Next page" } }
        }
    }
}
