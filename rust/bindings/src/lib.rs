//! Python bindings of toolprune: conversion, the GIL and errors, no logic.
