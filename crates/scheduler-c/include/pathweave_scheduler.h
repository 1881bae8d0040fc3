/* The packet schedulers of Pathweave as a C library: which path carries which bytes of a stream.
 *
 * Made by cbindgen from crates/scheduler-c/src. docs/embedding-c.md says how to build, link and call.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef PATHWEAVE_SCHEDULER_H
#define PATHWEAVE_SCHEDULER_H

#include <stddef.h>
#include <stdint.h>

/*
 Most paths that can be up at one time. Paths are numbered from 0.
 */
#define PATHWEAVE_MAX_PATHS 32

/*
 "No path", in place of a path's number.
 */
#define PATHWEAVE_NO_PATH UINT32_MAX

/*
 The `acknowledged_end` of a transport that has no such number. Unknown fields of structs are 0 instead.
 */
#define PATHWEAVE_UNKNOWN UINT64_MAX

/*
 The path should carry data only while no other path can (`flags` of a path).
 */
#define PATHWEAVE_PATH_BACKUP 1

/*
 The path shows no sign of life: an answer is overdue. It gets no data while a path without this flag is up (`flags`
 of a path).
 */
#define PATHWEAVE_PATH_STALE 2

/*
 The program had less to send than the congestion window allows, so the path may deliver more than
 `delivery_rate_bytes_per_s` (`flags` of a path).
 */
#define PATHWEAVE_PATH_APPLICATION_LIMITED 4

/*
 The path has a quota, of which `quota_left_bytes` are left (`flags` of a path).
 */
#define PATHWEAVE_PATH_QUOTA 8

/*
 The application has more data than the send buffer takes (`flags` of a view).
 */
#define PATHWEAVE_VIEW_WRITER_WAITS 1

/*
 The result of a call. Every function returns one, except `pathweave_scheduler_free` and those that return a number
 or a text.

 A call that does not return `PATHWEAVE_STATUS_OK` has changed nothing but the text of `pathweave_scheduler_error`.
 The exception is `PATHWEAVE_STATUS_POISONED`: after it, the handle can only be freed.
 */
enum pathweave_status {
  /*
   The call was carried out.
   */
  PATHWEAVE_STATUS_OK = 0,
  /*
   A pointer that must not be null is null.
   */
  PATHWEAVE_STATUS_NULL_POINTER = 1,
  /*
   A struct's `size` is less than that of its first version, over 4096, or differs between the elements of an
   array.
   */
  PATHWEAVE_STATUS_SIZE = 2,
  /*
   There is no scheduler of this name.
   */
  PATHWEAVE_STATUS_UNKNOWN_SCHEDULER = 3,
  /*
   The scheduler has no such parameter, or the parameter does not allow the value.
   */
  PATHWEAVE_STATUS_PARAMETER = 4,
  /*
   A path's number is not below `PATHWEAVE_MAX_PATHS`, or a view has more paths than that.
   */
  PATHWEAVE_STATUS_PATH_NUMBER = 5,
  /*
   The call or its view names a path that is not up.
   */
  PATHWEAVE_STATUS_UNKNOWN_PATH = 6,
  /*
   The path is up already, or is in the view twice.
   */
  PATHWEAVE_STATUS_PATH_TWICE = 7,
  /*
   The view lacks a path that is up.
   */
  PATHWEAVE_STATUS_PATH_MISSING = 8,
  /*
   A range is empty or ends too late: an assigned one after the written data, an acknowledged or lost one (and
   `acknowledged_end`) after the last byte that any path was given.
   */
  PATHWEAVE_STATUS_RANGE = 9,
  /*
   The time is before that of an earlier call.
   */
  PATHWEAVE_STATUS_TIME = 10,
  /*
   A field or an argument has a value that is not allowed, other than those above.
   */
  PATHWEAVE_STATUS_VALUE = 11,
  /*
   The library has found a mistake of its own. The handle can only be freed. Please report the text of
   `pathweave_scheduler_error`.
   */
  PATHWEAVE_STATUS_POISONED = 12,
};

/*
 The kind of a decision.
 */
enum pathweave_action {
  /*
   Send a range of the stream on a path, report it with `pathweave_scheduler_assigned`, and ask again.
   */
  PATHWEAVE_ACTION_SEND = 1,
  /*
   Send nothing until the next report, or until `wait_until_ns` if that is not 0.
   */
  PATHWEAVE_ACTION_WAIT = 2,
};

/*
 How a loss was found.
 */
enum pathweave_loss {
  /*
   By acknowledgements of later data.
   */
  PATHWEAVE_LOSS_ACKNOWLEDGEMENTS = 0,
  /*
   By a timeout.
   */
  PATHWEAVE_LOSS_TIMEOUT = 1,
};

/*
 The phase of a path's congestion control.
 */
enum pathweave_phase {
  /*
   Unknown. Slow start is assumed while the window is below the threshold, else congestion avoidance.
   */
  PATHWEAVE_PHASE_UNKNOWN = 0,
  /*
   The window doubles each round.
   */
  PATHWEAVE_PHASE_SLOW_START = 1,
  /*
   Congestion avoidance.
   */
  PATHWEAVE_PHASE_AVOIDANCE = 2,
  /*
   Recovery from a loss that was found by acknowledgements.
   */
  PATHWEAVE_PHASE_RECOVERY = 3,
  /*
   Recovery from a timeout.
   */
  PATHWEAVE_PHASE_TIMEOUT = 4,
};

/*
 The scheduler of one stream, with the stream's map. Made by `pathweave_scheduler_new`. One thread at a time may use
 it.
 */
struct pathweave_scheduler;

/*
 A parameter of a scheduler, as two texts in UTF-8, such as "objective" and "latency".
 */
struct pathweave_parameter {
  /*
   The parameter's name.
   */
  const char *name;
  /*
   The value, as on the command line of `pathweave`: a number, a time such as "10ms", a word, "true" or "false".
   */
  const char *value;
};

/*
 A path as the program knows it now. Fill the struct with zeros first: a field that stays 0 is unknown, and its
 comment says what is assumed instead. Only `size`, `id`, `mss_bytes` and `congestion_window_bytes` must be set.
 Round-trip times are at most a day.
 */
struct pathweave_path {
  /*
   `sizeof(struct pathweave_path)`.
   */
  size_t size;
  /*
   The path's number, 0 to `PATHWEAVE_MAX_PATHS - 1`.
   */
  uint32_t id;
  /*
   `PATHWEAVE_PATH_BACKUP`, `PATHWEAVE_PATH_STALE`, `PATHWEAVE_PATH_APPLICATION_LIMITED` and
   `PATHWEAVE_PATH_QUOTA`, added up.
   */
  uint32_t flags;
  /*
   Bytes of the stream that a full packet carries, 1 to 65536.
   */
  uint32_t mss_bytes;
  /*
   A value of `enum pathweave_phase`.
   */
  uint32_t phase;
  /*
   Bytes that may be in flight. Counts as whole packets of `mss_bytes`, rounded down.
   */
  uint64_t congestion_window_bytes;
  /*
   Slow start threshold. 0: none, because there was no loss yet.
   */
  uint64_t slow_start_threshold_bytes;
  /*
   Bytes sent that are thought to be in the network.
   */
  uint64_t in_flight_bytes;
  /*
   Bytes sent that are not acknowledged on the path: in flight or lost. 0: as many as are in flight.
   */
  uint64_t unacknowledged_bytes;
  /*
   Bytes given to the path that have not left the program.
   */
  uint64_t queued_bytes;
  /*
   Most bytes that the path takes, unacknowledged and queued together. 0: no limit.
   */
  uint64_t queue_limit_bytes;
  /*
   Smoothed round-trip time (SRTT of RFC 6298, smoothed_rtt of RFC 9002). 0: not measured yet.
   */
  uint64_t smoothed_rtt_ns;
  /*
   Variation of the round-trip time (RTTVAR of RFC 6298, rttvar of RFC 9002). 0: no variation.
   */
  uint64_t rtt_variation_ns;
  /*
   Smallest round-trip time. 0: the smoothed one.
   */
  uint64_t min_rtt_ns;
  /*
   Largest round-trip time. 0: the smoothed one.
   */
  uint64_t max_rtt_ns;
  /*
   The latest round-trip time. 0: the smoothed one.
   */
  uint64_t latest_rtt_ns;
  /*
   Rate at which bytes were acknowledged over the last round trip. 0: not measured yet.
   */
  uint64_t delivery_rate_bytes_per_s;
  /*
   Rate at which the program sends on the path. 0: a congestion window each smoothed round trip, if that is known.
   */
  uint64_t pacing_rate_bytes_per_s;
  /*
   When the first packet of the present round trip was sent. 0: unknown.
   */
  uint64_t round_start_ns;
  /*
   Fraction of the sent packets that was lost, smoothed, 0 to 1.
   */
  double loss_ratio;
  /*
   Cost of a gigabyte, in any unit. 0: free.
   */
  double cost_per_gigabyte;
  /*
   Bytes that the path may still carry, if `flags` has `PATHWEAVE_PATH_QUOTA`.
   */
  uint64_t quota_left_bytes;
  /*
   Schedulers that read the priority prefer paths with a lower number.
   */
  uint32_t priority;
  /*
   Must be 0.
   */
  uint32_t reserved;
};

/*
 The present state as the program knows it: the time, the receiver's window, and all paths that are up. Fill the
 struct with zeros first. Only `size`, `now_ns`, `paths` and `path_count` must be set.
 */
struct pathweave_view {
  /*
   `sizeof(struct pathweave_view)`.
   */
  size_t size;
  /*
   The time now, by the program's monotonic clock. Not before that of an earlier call.
   */
  uint64_t now_ns;
  /*
   All paths that are up, in any order, each once.
   */
  const struct pathweave_path *paths;
  /*
   Elements of `paths`, 0 to `PATHWEAVE_MAX_PATHS`.
   */
  size_t path_count;
  /*
   End of the receiver's window, as an offset in the stream: the byte there and all later ones may not be sent. In
   QUIC, the limit of MAX_STREAM_DATA; in TCP, the acknowledged end plus the window. 0: no limit.
   */
  uint64_t send_window_end;
  /*
   Size of the receiver's window. 0: from the acknowledged end to `send_window_end`.
   */
  uint64_t send_window_bytes;
  /*
   Size of the buffer that keeps data until it is acknowledged. 0: no limit.
   */
  uint64_t send_buffer_bytes;
  /*
   End of the message that contains the first byte that no path carries. 0: unknown.
   */
  uint64_t message_end;
  /*
   `PATHWEAVE_VIEW_WRITER_WAITS`, or 0.
   */
  uint32_t flags;
  /*
   Must be 0.
   */
  uint32_t reserved;
};

/*
 Bytes of the stream from `start` up to `end`, without the byte at `end`. The stream's first byte is 0.
 */
struct pathweave_range {
  /*
   The first byte.
   */
  uint64_t start;
  /*
   The byte after the last one.
   */
  uint64_t end;
};

/*
 A decision. Set `size` before the call; the call fills the other fields.
 */
struct pathweave_decision {
  /*
   `sizeof(struct pathweave_decision)`.
   */
  size_t size;
  /*
   Whether to send or to wait.
   */
  enum pathweave_action action;
  /*
   The path that shall carry the range. If `action` is a wait: the path that the scheduler waits for, or
   `PATHWEAVE_NO_PATH`.
   */
  uint32_t path;
  /*
   The range to send. Its bytes may have gone out before, on another path. Empty if `action` is a wait.
   */
  struct pathweave_range range;
  /*
   Latest time at which to ask again. 0: no time, only after the next report.
   */
  uint64_t wait_until_ns;
  /*
   1: the range may be longer than the room in the congestion window; its rest waits on the path. Otherwise 0.
   */
  uint32_t queue;
  /*
   Always 0.
   */
  uint32_t reserved;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Makes the scheduler called `name` for one stream: "weave", "minrtt" or another name that
 `pathweave_scheduler_name` lists.

 `parameters` has `parameter_count` parameters that differ from their defaults; null if there are none. `*scheduler`
 becomes the new handle, or null after an error. If `error` is not null, the error's text is written there: the wrong
 name or value, and the allowed ones. The text is cut to `error_length` bytes including its final zero. It is empty
 after `PATHWEAVE_STATUS_OK`.
 */
enum pathweave_status pathweave_scheduler_new(const char *name,
                                              const struct pathweave_parameter *parameters,
                                              size_t parameter_count,
                                              struct pathweave_scheduler **scheduler,
                                              char *error,
                                              size_t error_length);

/*
 Frees a scheduler; null is allowed.
 */
void pathweave_scheduler_free(struct pathweave_scheduler *scheduler);

/*
 Reports that a path can carry data from now on, for the first time or again. `view` contains it already.
 */
enum pathweave_status pathweave_scheduler_path_up(struct pathweave_scheduler *scheduler,
                                                  const struct pathweave_view *view,
                                                  uint32_t path);

/*
 Reports that a path has ended. `view` no longer contains it. Unacknowledged bytes that only this path carried are
 offered again by `pathweave_scheduler_decide`. The number may be given to another path later.
 */
enum pathweave_status pathweave_scheduler_path_down(struct pathweave_scheduler *scheduler,
                                                    const struct pathweave_view *view,
                                                    uint32_t path);

/*
 Reports that the application has written `bytes` more bytes to the stream.
 */
enum pathweave_status pathweave_scheduler_written(struct pathweave_scheduler *scheduler,
                                                  const struct pathweave_view *view,
                                                  uint64_t bytes);

/*
 Asks what to send next.

 Call this after each report that may allow more to be sent, and when a wait is over, until the answer is a wait.
 Carry each decision out and report it with `pathweave_scheduler_assigned` before the next call.
 */
enum pathweave_status pathweave_scheduler_decide(struct pathweave_scheduler *scheduler,
                                                 const struct pathweave_view *view,
                                                 struct pathweave_decision *decision);

/*
 Reports that a path was given the bytes from `start` up to `end`, without the byte at `end`. They are the range of
 the last decision or its beginning, or a range that the program chose itself. `view` counts them already.
 */
enum pathweave_status pathweave_scheduler_assigned(struct pathweave_scheduler *scheduler,
                                                   const struct pathweave_view *view,
                                                   uint32_t path,
                                                   uint64_t start,
                                                   uint64_t end);

/*
 Reports an acknowledgement.

 `ranges` are the `range_count` ranges of the stream that were newly acknowledged on `path`. `acknowledged_end` is
 the end of the bytes that the receiver has without a gap, whichever paths carried them. A value below an earlier one
 changes nothing. A transport that has no such number, such as QUIC, passes `PATHWEAVE_UNKNOWN`; the library then
 computes the number from the ranges. If only `acknowledged_end` is new, `path` is `PATHWEAVE_NO_PATH` and
 `range_count` 0.

 For ranges that a path carried before it went down, `path` is `PATHWEAVE_NO_PATH` too. They count for the end that
 the library computes. The library may offer the ones behind a gap again, because no path carries them any more.
 */
enum pathweave_status pathweave_scheduler_acknowledged(struct pathweave_scheduler *scheduler,
                                                       const struct pathweave_view *view,
                                                       uint32_t path,
                                                       const struct pathweave_range *ranges,
                                                       size_t range_count,
                                                       uint64_t acknowledged_end);

/*
 Reports that a loss was found on a path; `loss` is a value of `enum pathweave_loss`.

 `ranges` are the `range_count` ranges that `pathweave_scheduler_decide` shall offer again, for this path or another.
 If the path repeats lost data by itself, as TCP does, there are none.
 */
enum pathweave_status pathweave_scheduler_lost(struct pathweave_scheduler *scheduler,
                                               const struct pathweave_view *view,
                                               uint32_t path,
                                               const struct pathweave_range *ranges,
                                               size_t range_count,
                                               uint32_t loss);

/*
 Reports a measured round-trip time of a path, 1 ns to one day. The path's averages in `view` include it already.
 */
enum pathweave_status pathweave_scheduler_rtt_sample(struct pathweave_scheduler *scheduler,
                                                     const struct pathweave_view *view,
                                                     uint32_t path,
                                                     uint64_t rtt_ns);

/*
 Returns the end of the bytes that are acknowledged without a gap. 0 if `scheduler` is null or poisoned.
 */
uint64_t pathweave_scheduler_acknowledged_end(struct pathweave_scheduler *scheduler);

/*
 Writes the reason of the last decision into `buffer`: a sentence in UTF-8 with the numbers that the scheduler
 compared. It is cut to `length` bytes including its final zero. It is empty before the first decision and if
 `scheduler` is null or poisoned. Returns the length of the whole sentence without the zero, as snprintf does.
 */
size_t pathweave_scheduler_reason(struct pathweave_scheduler *scheduler,
                                  char *buffer,
                                  size_t length);

/*
 Writes a text about the last call on this handle that did not return `PATHWEAVE_STATUS_OK` into `buffer`: the field,
 its value and the allowed values. On a poisoned handle, the text says which mistake the library has found. The text
 is cut, and its length returned, as by `pathweave_scheduler_reason`.
 */
size_t pathweave_scheduler_error(struct pathweave_scheduler *scheduler,
                                 char *buffer,
                                 size_t length);

/*
 Returns the name of the scheduler with this index, which counts from 0; null if the index is too large. The text
 stays valid until the program ends.
 */
const char *pathweave_scheduler_name(size_t index);

/*
 Returns the meaning of a status; null if there is no such status. The text stays valid until the program ends.
 */
const char *pathweave_status_text(uint32_t status);

/*
 Returns the version of the library, such as "0.1.0". The text stays valid until the program ends.
 */
const char *pathweave_scheduler_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PATHWEAVE_SCHEDULER_H */
