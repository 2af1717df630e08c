// SPDX-License-Identifier: Apache-2.0
/* For programs without a main() of their own. */
#include "support/test.h"

int main(void)
{
    return test_run(NULL, NULL);
}
