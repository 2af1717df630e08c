-- SPDX-License-Identifier: Apache-2.0
-- From version 10 to 11.

ALTER TABLE {s}.meta ADD COLUMN oldest bigint NOT NULL DEFAULT 11;
ALTER TABLE {s}.meta ALTER COLUMN oldest DROP DEFAULT;
