#pragma once
// A section of the spec is a struct whose members are filled from the keys of one JSON object. Each
// key is declared once, together with its member.

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

// Each `read_value` stores a checked value in a member. Other modules overload it for their own
// types, next to the type.
void read_value(const Json& value, int64_t& out);
void read_value(const Json& value, double& out);
void read_value(const Json& value, bool& out);
void read_value(const Json& value, std::string& out);
void read_value(const Json& value, Duration& out);
void read_value(const Json& value, Stages& out);
bool is_null(const Json& value);
template <class T>
void read_value(const Json& value, std::optional<T>& out) {
    if (is_null(value)) return out.reset();
    read_value(value, out.emplace());
}

/// Returns the index of a word among a choice's words.
size_t index_of(const Json& word, const Parameter& choice);
/// Returns the member `name` of an object.
const Json& member_of(const Json& object, const std::string& name);
/// Calls `entry` for every element of a list.
void for_each(const Json& list, const std::function<void(const Json&)>& entry);
/// Returns a word as the JSON text of a default.
std::string default_text(const std::string& word);

/// A key of kind choice whose words map to values of the enum E. The default is the first word for
/// `standard`.
template <class E>
struct Words {
    Parameter parameter;
    std::vector<E> values;  ///< In the order of the words.

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

/// The keys of `S`, a struct with one member per key. If S is used as a member of another section,
/// its function `S::section()` returns its keys.
template <class S>
class Section {
public:
    /// One key: its declaration, and the function that stores its value.
    struct Key {
        Parameter parameter;
        std::function<void(S&, const Json&)> set;

        /// A key that the section does not store, for example a member of a family: its reader uses
        /// the JSON object itself.
        Key(Parameter p) : parameter(std::move(p)), set([](S&, const Json&) {}) {}
        template <class T>
        Key(Parameter p, T S::*member)
            : parameter(std::move(p)),
              set([member](S& s, const Json& value) { read_value(value, s.*member); }) {}
        Key(Parameter p, void (*setter)(S&, const Json&)) : parameter(std::move(p)), set(setter) {}
        template <class E>
        Key(Words<E> words, E S::*member)
            : parameter(words.parameter), set([words, member](S& s, const Json& value) {
                  s.*member = words.values.at(index_of(value, words.parameter));
              }) {}
        /// An object whose keys are those of the section T. If `word` is not empty, a string is
        /// read as an object with this key.
        template <class T>
        Key(std::string name, T S::*member, std::string help, std::string word = "")
            : parameter(
                  Parameter::object(std::move(name), T::section().parameters(), std::move(help))
                      .or_string(std::move(word))),
              set([member](S& s, const Json& value) { s.*member = T::section().read(value); }) {}
        /// A list of objects whose keys are those of the section T.
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

    /// Reads an object that was checked against `parameters`; ignores other keys.
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
