//! Calls from the engine to the rules of its host. Each kind of rules is a trait. An enum with a variant for each host
//! has the trait's methods, so a call is a `match` that the compiler can inline.

/// Declares a kind of rules: its trait, which is the last argument, and its enum. For example, `rules!(AckHost, Acks =
/// acks(longest_delay as Duration), pub(crate) trait AckRules { .. })` declares the enum `AckHost` with the methods of
/// `AckRules`. `AckHost::new(host, longest_delay)` makes it with the host's `HostRules::acks`.
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

/// Declares the enum of a kind of rules, and its `new`. A kernel's rules are boxed, because those of the plain host are
/// small.
macro_rules! variants {
    (
        [
            $(#[doc = $_0:literal])* $plain:ident = $plain_rules:path;
            $($(#[doc = $_1:literal])* #[cfg($($when:tt)*)] $host:ident = $rules:path;)*
        ],
        $enum:ident, $kind:ident, $make:ident $arguments:tt, $($given:ident: $type:ty),*
    ) => {
        /// The rules of a connection's host.
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

/// Gives the enum the methods of the trait. Each round of the macro takes one method off the front.
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

/// Calls one method of the host's rules.
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
