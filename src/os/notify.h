// SPDX-License-Identifier: Apache-2.0
/*
 * Telling the service manager how a service is (sd_notify(3), without its library): one datagram
 * to the socket named by NOTIFY_SOCKET. Without a service manager all of it does nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/**
 * Send a state: "READY=1\nSTATUS=...". Any thread; does not block.
 * @return whether a service manager was notified
 */
bool notify_send(const char *state);

/**
 * How often the service manager expects "WATCHDOG=1" from this process (WATCHDOG_USEC,
 * WATCHDOG_PID), in nanoseconds: half of the time after which it would end the service. 0 = it does
 * not watch.
 */
int64_t notify_watchdog_ns(void);
