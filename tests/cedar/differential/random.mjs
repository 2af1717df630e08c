// SPDX-License-Identifier: Apache-2.0
// Random choices that a seed repeats.

/** A source of random choices: the generator sfc32. */
export class Random {
  constructor(seed) {
    this.a = seed | 0;
    this.b = (seed * 0x9e3779b1) | 0;
    this.c = 0x243f6a88;
    this.d = 1;
    for (let i = 0; i < 16; i++) {
      this.next();
    }
  }

  /** 32 random bits. */
  next() {
    const sum = (this.a + this.b + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A whole number from 0 to below `count`. */
  below(count) {
    return this.next() % count;
  }

  /** True in one of `count` cases. */
  oneIn(count) {
    return this.below(count) === 0;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** `count` results of a function. */
  many(count, make) {
    return Array.from({ length: count }, (_, i) => make(i));
  }
}
