// SPDX-License-Identifier: Apache-2.0
// A component that is drawn again only when one of its properties is another one.
import { Component, h } from "preact";

export function memo(Inner) {
  return class Memo extends Component {
    shouldComponentUpdate(next) {
      const names = Object.keys(next);
      return (
        names.length !== Object.keys(this.props).length ||
        names.some((name) => next[name] !== this.props[name])
      );
    }

    render(props) {
      return h(Inner, props);
    }
  };
}
