// SPDX-License-Identifier: Apache-2.0
/* For programs without a main() of their own; a word is the source file whose tests are wanted. */
#include "support/test.h"

int main(int argc, char **argv)
{
    return test_run_source(argc > 1 ? argv[1] : NULL);
}
