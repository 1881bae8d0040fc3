//! Where the application's messages end in the stream.
//!
//! TCP delivers a stream of bytes and loses these borders; a scheduler that wants a message to arrive as a whole needs them
//! ([`View::message_end`](crate::scheduler::View)). They never leave the host.

use crate::seq::DataSeq;
use std::collections::VecDeque;

/// The ends that are not acknowledged yet.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    ends: VecDeque<DataSeq>,
}

impl Messages {
    /// A message ends before the byte `end`. Where the one before ended there too, nothing was written in between.
    pub(crate) fn append(&mut self, end: DataSeq) {
        if self.ends.back() != Some(&end) {
            self.ends.push_back(end);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All before `una` is acknowledged.
    pub(crate) fn acknowledge(&mut self, una: DataSeq) {
        while self.ends.pop_front_if(|e| *e <= una).is_some() {}
    }

    /// The end of the message that the byte at `at` belongs to, where it is known.
    pub(crate) fn end_of(&self, at: DataSeq) -> Option<DataSeq> {
        self.ends.get(self.ends.partition_point(|e| *e <= at)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_belongs_to_the_message_that_ends_after_it() {
        let mut messages = Messages::default();
        assert_eq!(messages.end_of(DataSeq(0)), None);
        messages.append(DataSeq(100));
        messages.append(DataSeq(100));
        messages.append(DataSeq(250));
        let end_of = |messages: &Messages, at| messages.end_of(DataSeq(at)).map(|e| e.0);
        assert_eq!([0, 99, 100, 249].map(|at| end_of(&messages, at)), [100, 100, 250, 250].map(Some));
        assert_eq!(end_of(&messages, 250), None, "where that one ends is not known yet");
        messages.acknowledge(DataSeq(99));
        assert_eq!(end_of(&messages, 99), Some(100));
        messages.acknowledge(DataSeq(250));
        assert!(messages.ends.is_empty());
    }
}
