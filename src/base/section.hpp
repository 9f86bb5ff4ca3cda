#pragma once
// A section of the spec: its keys are declared once, each with the member that its value goes to.

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cadence.hpp"
#include "base/duration.hpp"
#include "base/family.hpp"
#include "base/json.hpp"

namespace dbench::base {

// A checked value into a member. Types of other rooms bring their own `take` beside them.
void take(const Json& value, int64_t& out);
void take(const Json& value, double& out);
void take(const Json& value, bool& out);
void take(const Json& value, std::string& out);
void take(const Json& value, Duration& out);
void take(const Json& value, Stages& out);
bool is_null(const Json& value);
template <class T>
void take(const Json& value, std::optional<T>& out) {
    if (is_null(value)) return out.reset();
    take(value, out.emplace());
}

/// The index of a word among a choice's words.
size_t index_of(const Json& word, const Parameter& choice);
/// The member of an object.
const Json& member_of(const Json& object, const std::string& name);
/// Calls for every entry of a list.
void for_each(const Json& list, const std::function<void(const Json&)>& entry);
/// A word as a default's text.
std::string default_text(const std::string& word);

/// A key whose words name values. The default is the first word for `standard`.
template <class E>
struct Words {
    Parameter parameter;
    std::vector<E> values;  ///< in the order of the parameter's choices

    Words(std::string name, std::initializer_list<std::pair<const char*, E>> words, E standard,
          std::string help, Parameter::Resolve resolve = nullptr) {
        std::vector<std::string> choices;
        std::string first;
        for (const auto& [word, value] : words) {
            if (value == standard && first.empty()) first = word;
            choices.emplace_back(word);
            values.push_back(value);
        }
        parameter = Parameter::choice(std::move(name), default_text(first), std::move(choices),
                                      std::move(help));
        parameter.resolve = resolve;
    }
};

/// The keys of `S`, a struct with one member per key. Of a struct that is a section itself,
/// `S::section()` gives its keys.
template <class S>
class Section {
public:
    /// One key: how it is declared, and where its value goes.
    struct Key {
        Parameter parameter;
        std::function<void(S&, const Json&)> set;

        /// A family's row or the like: whoever makes it reads the object itself.
        Key(Parameter p) : parameter(std::move(p)), set([](S&, const Json&) {}) {}
        template <class T>
        Key(Parameter p, T S::*member)
            : parameter(std::move(p)),
              set([member](S& s, const Json& value) { take(value, s.*member); }) {}
        Key(Parameter p, void (*setter)(S&, const Json&)) : parameter(std::move(p)), set(setter) {}
        template <class E>
        Key(Words<E> words, E S::*member)
            : parameter(words.parameter), set([words, member](S& s, const Json& value) {
                  s.*member = words.values.at(index_of(value, words.parameter));
              }) {}
        /// An object whose keys are a section's. `word`: a string stands for one with this key.
        template <class T>
        Key(std::string name, T S::*member, std::string help, std::string word = "")
            : parameter(
                  Parameter::object(std::move(name), T::section().parameters(), std::move(help))
                      .or_word(std::move(word))),
              set([member](S& s, const Json& value) { s.*member = T::section().read(value); }) {}
        /// A list of objects whose keys are a section's.
        template <class T>
        Key(std::string name, std::vector<T> S::*member, std::string help)
            : parameter(
                  Parameter::list(std::move(name), T::section().parameters(), std::move(help))),
              set([member](S& s, const Json& value) {
                  for_each(value, [&](const Json& entry) {
                      (s.*member).push_back(T::section().read(entry));
                  });
              }) {}
    };

    Section(std::initializer_list<Key> keys) : keys_(keys) {
        for (const Key& key : keys_) parameters_.push_back(key.parameter);
    }

    const std::vector<Parameter>& parameters() const { return parameters_; }

    /// Of an object that was checked against `parameters`; further keys are left alone.
    S read(const Json& resolved) const {
        S out{};
        for (const Key& key : keys_) key.set(out, member_of(resolved, key.parameter.name));
        return out;
    }

private:
    std::vector<Key> keys_;
    std::vector<Parameter> parameters_;
};

}  // namespace dbench::base
