//! Short names of the reasons to refuse something, for metrics and logs.
//!
//! What must always hold: each reason has one name and every name is in the list, because both are made of the same lines;
//! a name is in kebab-case and says nothing of the request that was refused.

/// Gives `$Refusal` its `name` and the list `NAMES` of all of them.
macro_rules! reasons {
    ($Refusal:ident: $($pattern:pat => $name:literal,)*) => {
        impl $Refusal {
            /// The names of all reasons.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Returns the short name of the reason, in kebab-case, as metrics have it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($pattern => $name,)*
                }
            }
        }
    };
}

pub(crate) use reasons;

#[cfg(test)]
mod tests;
