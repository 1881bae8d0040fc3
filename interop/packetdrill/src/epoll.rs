//! Waiting for several sockets with epoll.

use crate::stack::{Answer, Ready, Refusal, Role, Stack, refuse};

/// One event of `epoll_wait`: the events of a socket, and the script's identification of it.
pub(crate) type Event = (u32, u64);

#[derive(Clone, Copy, Debug)]
struct Watched {
    fd: i32,
    events: u32,
    data: u64,
    /// Changes of the socket that have been reported.
    seen: Option<u64>,
}

/// The sockets that are watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoll {
    watched: Vec<Watched>,
}

const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

/// A socket's state in epoll's terms.
pub(crate) fn events_of(is: &Ready) -> u32 {
    let states = [
        (is.readable, libc::EPOLLIN),
        (is.writable, libc::EPOLLOUT),
        (is.peer_ended, libc::EPOLLRDHUP),
        (is.failed, libc::EPOLLERR),
        (is.both_ended, libc::EPOLLHUP),
    ];
    states.iter().map(|(set, event)| if *set { *event as u32 } else { 0 }).sum()
}

impl Stack {
    pub(crate) fn epoll_create(&mut self) -> i32 {
        self.add(false, Role::Epoll(Epoll::default()))
    }

    fn epoll(&mut self, fd: i32) -> Answer<&mut Epoll> {
        match &mut self.socket(fd)?.role {
            Role::Epoll(epoll) => Ok(epoll),
            _ => refuse(libc::EINVAL),
        }
    }

    pub(crate) fn epoll_ctl(&mut self, epoll: i32, operation: i32, fd: i32, (events, data): Event) -> Answer<()> {
        self.socket(fd)?;
        let watched = &mut self.epoll(epoll)?.watched;
        let known = watched.iter().position(|w| w.fd == fd);
        match (operation, known) {
            (libc::EPOLL_CTL_ADD, Some(_)) => return refuse(libc::EEXIST),
            (libc::EPOLL_CTL_ADD, None) => watched.push(Watched { fd, events, data, seen: None }),
            (_, None) => return refuse(libc::ENOENT),
            (libc::EPOLL_CTL_MOD, Some(i)) => watched[i] = Watched { fd, events, data, seen: None },
            (libc::EPOLL_CTL_DEL, Some(i)) => drop(watched.remove(i)),
            _ => return refuse(libc::EINVAL),
        }
        Ok(())
    }

    /// Returns at most `most` events. With `EPOLLET` (edges), all changes since the last call are reported once.
    pub(crate) fn epoll_wait(&mut self, epoll: i32, most: usize) -> Answer<Vec<Event>> {
        let mut watched = self.epoll(epoll)?.watched.clone();
        let mut events = Vec::new();
        for w in &mut watched {
            let Ok(news) = self.socket(w.fd).map(|socket| socket.news) else { continue };
            let edge = w.events & libc::EPOLLET as u32 != 0;
            let ready = events_of(&self.ready(w.fd)?) & (w.events | ALWAYS);
            if ready == 0 || (edge && w.seen == Some(news)) || events.len() == most {
                continue;
            }
            w.seen = Some(news);
            events.push((ready, w.data));
        }
        self.epoll(epoll)?.watched = watched;
        if events.is_empty() { Err(Refusal::Blocked) } else { Ok(events) }
    }
}
