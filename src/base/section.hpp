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
void read_value(const Json& value, std::vector<double>& out);
/// Copies the value, for example a member of another family, which its own table reads.
void read_value(const Json& value, Json& out);
bool is_null(const Json& value);
template <class T>
void read_value(const Json& value, std::optional<T>& out) {
    if (is_null(value)) return out.reset();
    read_value(value, out.emplace());
}

/// Returns the index of a word among a choice's words.
size_t index_of(const Json& word, const Parameter& choice);
/// Returns the index of the parameter `name`, which must exist.
size_t index_of(const std::vector<Parameter>& parameters, const std::string& name);
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
        /// Stores the value in a member of S or of a base class B of S.
        template <class T, class B>
        Key(Parameter p, T B::*member)
            : parameter(std::move(p)),
              set([member](S& s, const Json& value) { read_value(value, s.*member); }) {}
        /// Stores the value where `section`, whose struct is a base class of S, stores its key of
        /// the same name.
        template <class B>
        Key(Parameter p, const Section<B>& section)
            : parameter(std::move(p)), set(section.key(parameter.name).set) {}
        Key(Parameter p, void (*setter)(S&, const Json&)) : parameter(std::move(p)), set(setter) {}
        template <class E, class B>
        Key(Words<E> words, E B::*member)
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

    Section(std::initializer_list<Key> keys) {
        for (const Key& key : keys) append(key);
    }

    /// These keys, followed by those of the sections `rest`, whose structs are base classes of S.
    template <class... Bases>
    requires(sizeof...(Bases) > 0)
        Section(std::initializer_list<Key> keys, const Section<Bases>&... rest)
        : Section(keys) {
        (append(rest), ...);
    }

    /// The keys of `first`, whose struct is a base class of S, followed by these keys.
    template <class B>
    Section(const Section<B>& first, std::initializer_list<Key> keys) {
        append(first);
        for (const Key& key : keys) append(key);
    }

    const std::vector<Key>& keys() const { return keys_; }
    /// Returns the key of this name, which must exist.
    const Key& key(const std::string& name) const { return keys_.at(index_of(parameters_, name)); }
    const std::vector<Parameter>& parameters() const { return parameters_; }

    /// Reads an object that was checked against `parameters`; ignores other keys.
    S read(const Json& resolved) const {
        S out{};
        for (const Key& key : keys_) key.set(out, member_of(resolved, key.parameter.name));
        return out;
    }

private:
    void append(Key key) {
        parameters_.push_back(key.parameter);
        keys_.push_back(std::move(key));
    }
    template <class B>
    void append(const Section<B>& section) {
        for (const Parameter& parameter : section.parameters()) append({parameter, section});
    }

    std::vector<Key> keys_;
    std::vector<Parameter> parameters_;
};

}  // namespace dbench::base
