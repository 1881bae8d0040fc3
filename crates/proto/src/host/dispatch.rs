//! How the engine asks the host at hand. Each kind of rules is a trait, and an enum with a variant for each host has the
//! trait's methods, so a question is a `match` that the compiler can inline.

/// Declares a kind of rules, with the trait as its last argument. For
/// `rules!(AckHost, Acks = acks(longest_delay as Duration), pub(crate) trait AckRules { .. })` the enum is `AckHost`. It has
/// the methods of `AckRules`, and `AckHost::new(host, longest_delay)` makes it with the host's `HostRules::acks`.
macro_rules! rules {
    (
        $enum:ident,
        $kind:ident = $make:ident($($given:ident as $type:ty),*),
        $(#[$about:meta])*
        pub(crate) trait $rules:ident { $($methods:tt)* }
    ) => {
        $(#[$about])*
        #[allow(unused_variables, reason = "a default rule need not look at all that it is told")]
        pub(crate) trait $rules: core::fmt::Debug {
            $($methods)*
        }
        hosts!(variants!($enum, $kind, $make($($given),*), $($given: $type),*));
        hosts!(questions!($enum, $rules, $($methods)*));
    };
}

/// The enum of a kind of rules, and how it is made. A kernel's rules are boxed: the plain host's are small.
macro_rules! variants {
    (
        [
            $(#[doc = $_0:literal])* $plain:ident = $plain_rules:path;
            $($(#[doc = $_1:literal])* #[cfg($($when:tt)*)] $host:ident = $rules:path;)*
        ],
        $enum:ident, $kind:ident, $make:ident $arguments:tt, $($given:ident: $type:ty),*
    ) => {
        /// The rules of the host at hand.
        #[derive(Debug)]
        pub(crate) enum $enum {
            $plain(<$plain_rules as super::HostRules>::$kind),
            $(#[cfg($($when)*)] $host(Box<<$rules as super::HostRules>::$kind>),)*
        }

        impl $enum {
            pub(crate) fn new(host: &super::Host, $($given: $type),*) -> Self {
                match host {
                    super::Host::$plain => $enum::$plain(<$plain_rules as super::HostRules>::$make $arguments),
                    $(
                        #[cfg($($when)*)]
                        super::Host::$host => {
                            $enum::$host(Box::new(<$rules as super::HostRules>::$make $arguments))
                        }
                    )*
                }
            }
        }
    };
}

/// The methods of a trait of rules, for the enum. Takes one off the front each time.
macro_rules! questions {
    ($hosts:tt, $enum:ident, $rules:ident,) => {};
    (
        $hosts:tt, $enum:ident, $rules:ident,
        $(#[$_0:meta])* fn $name:ident(&$($this:ident)+ $(, $given:ident: $type:ty)* $(,)?) $(-> $answer:ty)?;
        $($others:tt)*
    ) => {
        questions!($hosts, $enum, $rules, fn $name(&$($this)+ $(, $given: $type)*) $(-> $answer)? {} $($others)*);
    };
    (
        $hosts:tt, $enum:ident, $rules:ident,
        $(#[$_0:meta])* fn $name:ident(&$($this:ident)+ $(, $given:ident: $type:ty)* $(,)?) $(-> $answer:ty)?
        { $($_1:tt)* }
        $($others:tt)*
    ) => {
        impl $enum {
            #[inline]
            pub(crate) fn $name(&$($this)+ $(, $given: $type)*) $(-> $answer)? {
                ask!([$($this)+] $hosts, $enum, $rules, $name($($given),*))
            }
        }
        questions!($hosts, $enum, $rules, $($others)*);
    };
}

/// One question to the host at hand.
macro_rules! ask {
    ([mut $this:ident] $($rest:tt)*) => { ask!([$this] $($rest)*) };
    (
        [$this:ident]
        [
            $(#[doc = $_0:literal])* $plain:ident = $_1:path;
            $($(#[doc = $_2:literal])* #[cfg($($when:tt)*)] $host:ident = $_3:path;)*
        ],
        $enum:ident, $rules:ident, $name:ident $arguments:tt
    ) => {
        match $this {
            $enum::$plain(rules) => rules.$name $arguments,
            $(#[cfg($($when)*)] $enum::$host(rules) => rules.$name $arguments,)*
        }
    };
}
