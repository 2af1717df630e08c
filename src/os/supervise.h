// SPDX-License-Identifier: Apache-2.0
/*
 * The supervisor: a small process between Rondo and a command, made from the same binary. It is a
 * child subreaper and holds one end of a lifeline pipe: when Rondo dies in any way, or asks for it,
 * it kills every descendant of the command, wherever they hid (setsid, double fork), and only then
 * ends. While it lives it can hold a lock file, so that the next owner of the run knows when
 * nothing of the former command is left.
 */
#pragma once

/** First argument that makes a program call supervise_main before anything else. */
#define SUPERVISE_ARGUMENT "__supervise"

/**
 * Be the supervisor. Only spawn_run makes such calls; the arguments are private to it.
 * @return exit code for main()
 */
int supervise_main(int argc, char **argv);
