//===- Control.cpp - What both ends of the control channel have -----------===//

#include "runtime/control/Control.h"

using namespace dist;

std::string Control::failure() const {
  std::lock_guard<std::mutex> lock(mutex);
  return message;
}

void Control::onFailure(std::function<void(const std::string &)> added) {
  std::lock_guard<std::mutex> lock(mutex);
  listener = std::move(added);
  if (listener && !message.empty())
    listener(message);
}

bool Control::setFailure(const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!message.empty())
    return false;
  message = text.empty() ? "the run has failed" : text;
  if (listener)
    listener(message);
  changed.notify_all();
  return true;
}
