#pragma once
// Rows of a family's table whose keys are a typed section: a struct declares the keys, and the
// factory of the row receives that struct instead of JSON.

#include <functional>
#include <string>
#include <utility>

#include "base/family.hpp"
#include "base/section.hpp"

namespace dbench::base {

/// The struct of an entry that has no keys.
struct NoKeys {
    static const Section<NoKeys>& section();
};

/// A row with a factory. `Signature` is the type of `make` without its first parameter, which is
/// the resolved JSON object of the member.
template <class Signature>
struct FactoryEntry;

template <class Result, class... Args>
struct FactoryEntry<Result(Args...)> : Entry {
    /// Reads the entry's keys from a resolved object, and calls the factory with them.
    std::function<Result(const Json& resolved, Args... args)> make;

    FactoryEntry() = default;
    /// The keys of the entry are those of `S::section()`, and `factory` receives their values.
    template <class S>
    FactoryEntry(std::string name, std::string help, Result (*factory)(const S&, Args...))
        : Entry{std::move(name), std::move(help), S::section().parameters()},
          make([factory](const Json& resolved, Args... args) {
              return factory(S::section().read(resolved), std::forward<Args>(args)...);
          }) {}
};

}  // namespace dbench::base
